/** Texts as bytes that are made only when they are sent, so that what is in memory does not grow with the whole. */
export function streamText(pieces: Iterator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull(controller) {
      const { done, value } = pieces.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
  })
}

import { spareTurn } from '../../core/concurrency/timing.ts'

/**
 * Streams text chunks, generated only when the client reads. Each chunk has its own turn of the event loop and should
 * take a few milliseconds. `onEnd` is called once with the error of a chunk, if any; a client that disconnects is no
 * error.
 */
export function streamText(
  pieces: Iterator<string, void>,
  onEnd: (error?: unknown) => void = () => {},
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let isOver = false
  const end = (error?: unknown) => {
    if (isOver) return
    isOver = true
    pieces.return?.()
    onEnd(error)
  }
  return new ReadableStream({
    async pull(controller) {
      await spareTurn()
      if (isOver) return
      try {
        const { done, value } = pieces.next()
        if (!done) return controller.enqueue(encoder.encode(value))
        end()
        controller.close()
      } catch (error) {
        end(error)
        controller.error(error)
      }
    },
    cancel: () => end(),
  })
}

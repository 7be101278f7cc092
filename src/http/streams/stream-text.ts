import { spareTurn } from '../../core/concurrency/spare-turn.ts'

/**
 * Texts as bytes that are made only when the client takes them, so that nothing gathers for a slow one. Each piece has a
 * turn of the event loop of its own and should take a few milliseconds. `onEnd` is called once, however it ends, with what
 * a piece threw; a client that leaves is no error.
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

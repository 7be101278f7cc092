import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { spareTurn } from '../../../core/concurrency/timing.ts'
import { TooMuch } from '../body.ts'

/** Limits for the whole stream and for one event's data. `onBytes` is called for each chunk. */
export type EventLimits = { maxBytes: number; maxEventCharacters: number; onBytes(): void }

/** Bytes parsed before the event loop runs other work. */
const SLICE_BYTES = 16 * 1024
const SLICES_A_TURN = 4
const EVENTS_A_TURN = 100

/**
 * Yields the events of a stream, and lets other work run in between so a flood of events cannot block the process.
 * @throws TooMuch beyond the limits.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array> | null,
  { maxBytes, maxEventCharacters, onBytes }: EventLimits,
): AsyncGenerator<EventSourceMessage, void> {
  const events: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => void events.push(event) })
  const decoder = new TextDecoder()
  let [bytes, slices, count] = [0, 0, 0]
  for await (const chunk of body ?? []) {
    onBytes()
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new TooMuch(`more than ${maxBytes} bytes`)
    for (let from = 0; from < chunk.length; from += SLICE_BYTES) {
      parser.feed(decoder.decode(chunk.subarray(from, from + SLICE_BYTES), { stream: true }))
      for (const event of events.splice(0)) {
        if (event.data.length > maxEventCharacters) throw new TooMuch(`more than ${maxEventCharacters} characters`)
        yield event
        if (++count % EVENTS_A_TURN === 0) await spareTurn()
      }
      if (++slices % SLICES_A_TURN === 0) await spareTurn()
    }
  }
}

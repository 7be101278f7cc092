import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { spareTurn } from '../../../core/concurrency/spare-turn.ts'
import { TooMuch } from '../body.ts'

/** Of the whole stream, and of the data of one event. `onBytes` is told of whatever comes. */
export type EventLimits = { maxBytes: number; maxEventCharacters: number; onBytes(): void }

/** What is parsed at once, and how much of a stream is looked at before others have their turn. */
const SLICE_BYTES = 16 * 1024
const SLICES_A_TURN = 4
const EVENTS_A_TURN = 100

/**
 * The events of a stream as they come. Somebody may send more of them than anybody can use, and all at once, so that others
 * have a turn in between. @throws TooMuch beyond the limits; then no more of it is read.
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

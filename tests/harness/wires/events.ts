import { createParser, type EventSourceMessage } from 'eventsource-parser'

type SentEvent = { id?: string; event: string | undefined; data: string }

/** Reads server-sent events as they arrive; `event` is undefined for unnamed ones. Ends with the body. */
export async function* readEvents(response: Response): AsyncGenerator<SentEvent> {
  const waiting: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => void waiting.push(event) })
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    for (const { id, event, data } of waiting.splice(0)) yield id === undefined ? { event, data } : { id, event, data }
  }
}

/** Returns all events when the response has ended. */
export async function readAllEvents(response: Response): Promise<SentEvent[]> {
  return Array.fromAsync(readEvents(response))
}

import type { ToolCall } from '../../../../adapters/gateways/stream.ts'

/** What an agent does in a turn, as it is told to those who follow it. */
export type TurnEvent = { type: 'text'; text: string } | ({ type: 'tool' } & ToolCall)

/** An event and the positions between which it stands. */
export type PlacedEvent = { start: number; end: number; event: TurnEvent }

/**
 * Everything that an agent has said in one turn. A position counts what stands before it: characters (UTF-16), and uses of
 * tools as one each. Whoever names the last position they know gets what comes after it, once, however the events were cut.
 */
export type TurnLog = {
  /** The position behind the last event. */
  readonly end: number
  readonly isClosed: boolean
  add(event: TurnEvent): void
  /** Nothing is added afterwards. */
  close(): void
  /** What stands after `position`. */
  readAfter(position: number): PlacedEvent[]
  /** The text alone. */
  text(): string
  /** The uses of tools alone. */
  toolCalls(): ToolCall[]
  /** Resolves once something stands after `position`, when the log is closed, or when `signal` aborts. */
  changed(position: number, signal: AbortSignal): Promise<void>
}

/** So many events are kept as they came; then they are joined, because a long answer comes in very many. */
const MAX_EVENTS = 2000

/** A log that begins with what was said before, such as by an earlier process. */
export function createTurnLog(before: readonly TurnEvent[] = []): TurnLog {
  let placed: PlacedEvent[] = []
  let end = 0
  let isClosed = false
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const check of [...waiting]) check()
  }
  const add = (event: TurnEvent) => {
    const start = end
    end += sizeOf(event)
    placed.push({ start, end, event })
    if (placed.length > MAX_EVENTS) placed = joinEvents(placed)
    wake()
  }
  for (const event of before) add(event)

  return {
    get end() {
      return end
    },
    get isClosed() {
      return isClosed
    },
    add,
    close() {
      isClosed = true
      wake()
    },
    readAfter: (position) => placed.filter((each) => each.end > position).map((each) => cutBefore(each, position)),
    text: () => placed.map(({ event }) => (event.type === 'text' ? event.text : '')).join(''),
    toolCalls: () => placed.flatMap(({ event }) => (event.type === 'tool' ? [toToolCall(event)] : [])),
    changed: (position, signal) =>
      new Promise((resolve) => {
        const check = () => {
          if (end <= position && !isClosed && !signal.aborted) return
          waiting.delete(check)
          signal.removeEventListener('abort', check)
          resolve()
        }
        waiting.add(check)
        signal.addEventListener('abort', check)
        check()
      }),
  }
}

function sizeOf(event: TurnEvent): number {
  return event.type === 'text' ? event.text.length : 1
}

function toToolCall({ type: _, ...call }: Extract<TurnEvent, { type: 'tool' }>): ToolCall {
  return call
}

/** Pieces of text that follow one another become one; positions stay what they are. */
export function joinEvents(events: readonly PlacedEvent[]): PlacedEvent[] {
  const joined: PlacedEvent[] = []
  for (const { start, end, event } of events) {
    const last = joined.at(-1)
    if (event.type === 'text' && last?.event.type === 'text') {
      joined[joined.length - 1] = {
        start: last.start,
        end,
        event: { type: 'text', text: last.event.text + event.text },
      }
    } else joined.push({ start, end, event })
  }
  return joined
}

function cutBefore({ start, end, event }: PlacedEvent, position: number): PlacedEvent {
  if (start >= position || event.type === 'tool') return { start, end, event }
  return { start: position, end, event: { ...event, text: event.text.slice(position - start) } }
}

import type { AgentToolCall } from '../../../../adapters/gateways/stream.ts'

/**
 * An event of a turn. `restart` means that the agent resumed the turn after a crash: the following events replace all
 * earlier ones.
 */
export type TurnEvent =
  | { type: 'text'; text: string }
  | ({ type: 'tool' } & AgentToolCall)
  | { type: 'restart'; restarts: number }

/** An event with its start and end position. */
export type PlacedEvent = { start: number; end: number; event: TurnEvent }

/**
 * Events of a turn since its last restart. A position counts UTF-16 characters of text, and one for each tool call and
 * restart. A reader that passes its last position gets every later event once, however the text was split.
 */
export type TurnLog = {
  /** Position of the last event. */
  readonly end: number
  /** Position and number of the last restart. */
  readonly startPosition: number
  readonly restarts: number
  readonly isClosed: boolean
  add(event: TurnEvent): void
  close(): void
  readAfter(position: number): PlacedEvent[]
  /** Returns the text without tool calls. */
  text(): string
  toolCalls(): AgentToolCall[]
  /** Resolves when there is an event after `position`, when the log is closed, or when `signal` aborts. */
  changed(position: number, signal: AbortSignal): Promise<void>
}

/** Joins text events beyond this number, because a long answer arrives in many chunks. */
const MAX_EVENTS = 2000

type Start = { startPosition: number; restarts: number }

/** Creates a log that starts with earlier events, for example of an earlier run, after `startPosition`. */
export function createTurnLog(
  before: readonly TurnEvent[] = [],
  { startPosition: start, restarts: restartsBefore }: Start = { startPosition: 0, restarts: 0 },
): TurnLog {
  let placed: PlacedEvent[] = []
  let end = Math.max(0, start - 1)
  let startPosition = 0
  let restarts = 0
  let isClosed = false
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const check of [...waiting]) check()
  }
  const add = (event: TurnEvent) => {
    const start = end
    end += sizeOf(event)
    if (event.type === 'restart') {
      placed = []
      startPosition = end
      restarts = event.restarts
    }
    placed.push({ start, end, event })
    if (placed.length > MAX_EVENTS) placed = joinEvents(placed)
    wake()
  }
  if (restartsBefore > 0) add({ type: 'restart', restarts: restartsBefore })
  for (const event of before) add(event)

  return {
    get end() {
      return end
    },
    get startPosition() {
      return startPosition
    },
    get restarts() {
      return restarts
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

function toToolCall({ type: _, ...call }: Extract<TurnEvent, { type: 'tool' }>): AgentToolCall {
  return call
}

/** Joins consecutive text events without changing positions. */
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
  if (start >= position || event.type !== 'text') return { start, end, event }
  return { start: position, end, event: { ...event, text: event.text.slice(position - start) } }
}

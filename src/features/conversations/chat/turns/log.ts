import type { AgentToolCall } from '../../../../adapters/gateways/stream.ts'

/**
 * What an agent does in a turn, as it is told to those who follow it. `restart` says that the agent took the turn up again
 * after a crash, for the `restarts`-th time: what follows replaces everything before it.
 */
export type TurnEvent =
  | { type: 'text'; text: string }
  | ({ type: 'tool' } & AgentToolCall)
  | { type: 'restart'; restarts: number }

/** An event and the positions between which it stands. */
export type PlacedEvent = { start: number; end: number; event: TurnEvent }

/**
 * Everything that an agent has said in one turn since it was last taken up. A position counts what was said before it:
 * characters (UTF-16), and one for each use of a tool and each restart. A reader who names the last position they know gets
 * what comes after it, once, however the events were cut.
 */
export type TurnLog = {
  /** The position behind the last event. */
  readonly end: number
  /** The position at which the turn was last taken up, and how often that happened. */
  readonly startPosition: number
  readonly restarts: number
  readonly isClosed: boolean
  add(event: TurnEvent): void
  /** Nothing is added afterwards. */
  close(): void
  /** What stands after `position`. */
  readAfter(position: number): PlacedEvent[]
  /** The text alone. */
  text(): string
  /** The uses of tools alone. */
  toolCalls(): AgentToolCall[]
  /** Resolves once something stands after `position`, when the log is closed, or when `signal` aborts. */
  changed(position: number, signal: AbortSignal): Promise<void>
}

/** So many events are kept as they came; then they are joined, because a long answer comes in very many. */
const MAX_EVENTS = 2000

type Start = { startPosition: number; restarts: number }

/** A log that begins with what was said before, such as by an earlier process, after `startPosition`. */
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
  if (start >= position || event.type !== 'text') return { start, end, event }
  return { start: position, end, event: { ...event, text: event.text.slice(position - start) } }
}

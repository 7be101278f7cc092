import { TaskQueue } from '../../core/concurrency/keyed-queue.ts'
import { AppError } from '../../core/errors.ts'
import type { ModelEvent, SavedTurn, TurnMarks, TurnOutcome, TurnStep } from '../state/turn-marks.ts'
import { toToolUse } from '../tools/define.ts'

/** Keeps a turn that crashes its agent or platform from restarting forever. */
const MAX_RESTARTS = 3

const INTERRUPTED_TOOL =
  'Interrupted: the agent or its platform ended while this tool was running, so it is not known whether it took effect. Do not call it again before you have checked that, or asked.'

type ToolStart = { id: string; name: string; input: unknown }
export type ToolOutput = NonNullable<TurnStep['calls'][number]['output']>
type RecordedRequest = Pick<SavedTurn, 'sessionKey' | 'messages'>

type Listener = (event: ModelEvent) => void
type SavedIn = { marks: TurnMarks; id: string }

/**
 * The events and steps of a turn. Enough of it is on disk to resume the turn: finished tools do not run again, and an
 * interrupted tool is reported to the model. Text after the last tool call is dropped, because the model generates it
 * again.
 */
export class TurnRecord {
  /** Steps with tool calls, in order; a resumed model continues after them. */
  readonly steps: TurnStep[]
  readonly #place: SavedIn
  readonly #request: RecordedRequest
  readonly #writes = new TaskQueue()
  readonly #listeners = new Set<Listener>()
  readonly #running = new Map<string, { startedAt: number; ended: PromiseWithResolvers<void> }>()
  #restarts: number
  #current: TurnStep | null = null
  #events: ModelEvent[]
  /** Events that are replayed after a restart. */
  #kept: ModelEvent[]

  /** Creates the record of a turn that an earlier process saved. Writes nothing before `begin`. */
  static resume(place: SavedIn, saved: SavedTurn): TurnRecord {
    const record = new TurnRecord(place, saved, saved)
    record.#goBack()
    return record
  }

  constructor(
    place: SavedIn,
    { sessionKey, messages }: RecordedRequest,
    { restarts, steps, events }: Pick<SavedTurn, 'restarts' | 'steps' | 'events'> = FRESH,
  ) {
    this.#place = place
    this.#request = { sessionKey, messages }
    this.#restarts = restarts
    this.#events = [...events]
    this.#kept = [...events]
    this.steps = structuredClone(steps)
  }

  get restarts(): number {
    return this.#restarts
  }

  get events(): readonly ModelEvent[] {
    return this.#events
  }

  /** Replays past events and passes on new ones until `signal` aborts. */
  follow(listener: Listener, signal: AbortSignal): void {
    for (const event of this.#events) listener(event)
    this.#listeners.add(listener)
    signal.addEventListener('abort', () => this.#listeners.delete(listener))
  }

  emit(event: ModelEvent): void {
    if (event.type === 'text' && this.#current) this.#current.text += event.text
    this.#spread(event)
    if (event.type !== 'generation') return
    // An interrupted model call is charged too, so its id must be kept.
    this.#kept.push(event)
    this.#save().catch(() => undefined)
  }

  /** Saves the request before the first model call. @throws as `restart`. */
  async begin(): Promise<void> {
    if (this.#restarts > MAX_RESTARTS) throw toInterrupted(this.steps)
    await this.#save()
  }

  beginStep(): void {
    this.#current = { text: '', calls: [] }
  }

  /** Saves that a tool is about to run. */
  async beginTool(tool: ToolStart): Promise<void> {
    this.#running.set(tool.id, { startedAt: performance.now(), ended: Promise.withResolvers() })
    this.#findCall(tool)
    this.#kept = [...this.#events]
    await this.#save()
  }

  /** Saves a tool's result and emits its event. */
  async endTool(tool: ToolStart, output: ToolOutput, result: unknown): Promise<void> {
    const running = this.#running.get(tool.id)
    const durationMs = running ? Math.round(performance.now() - running.startedAt) : 0
    this.#findCall(tool).output = output
    const success = output.type !== 'error-text'
    this.#spread({ type: 'tool', ...toToolUse(tool.name, tool.input, result), success, durationMs })
    this.#kept = [...this.#events]
    await this.#save()
    this.#running.delete(tool.id)
    running?.ended.resolve()
  }

  /**
   * Waits for running tools, then goes back to the last finished one.
   * @throws AppError `conflict` TURN_INTERRUPTED after the last restart.
   */
  async restart(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended.promise))
    if (this.#restarts >= MAX_RESTARTS) throw toInterrupted(this.steps)
    this.#goBack()
    await this.#save()
  }

  end(outcome: Pick<TurnOutcome, 'answer' | 'failure'>): Promise<void> {
    const { marks, id } = this.#place
    return this.#writes.run(() => marks.end(id, { events: joinTexts(this.#events), ...outcome }))
  }

  #save(): Promise<void> {
    const { marks, id } = this.#place
    const saved = { ...this.#request, restarts: this.#restarts, steps: this.steps, events: joinTexts(this.#kept) }
    return this.#writes.run(() => marks.save(id, saved))
  }

  #spread(event: ModelEvent): void {
    this.#events.push(event)
    for (const listener of this.#listeners) listener(event)
  }

  #findCall({ id, name, input }: ToolStart): TurnStep['calls'][number] {
    this.#current ??= { text: '', calls: [] }
    if (!this.steps.includes(this.#current)) this.steps.push(this.#current)
    const known = this.#current.calls.find((call) => call.id === id)
    if (known) return known
    const call = { id, name, input, output: null }
    this.#current.calls.push(call)
    return call
  }

  #goBack(): void {
    const replayed = this.#kept.filter(({ type }) => type !== 'restart' && type !== 'answering')
    this.#restarts += 1
    this.#current = null
    this.#events = []
    this.#spread({ type: 'restart', restarts: this.#restarts })
    for (const event of replayed) this.#spread(event)
    for (const call of this.steps.flatMap(({ calls }) => calls)) {
      if (call.output) continue
      call.output = { type: 'error-text', value: INTERRUPTED_TOOL }
      const use = toToolUse(call.name, call.input, INTERRUPTED_TOOL)
      this.#spread({ type: 'tool', ...use, success: false, durationMs: 0 })
    }
    this.#kept = [...this.#events]
  }
}

const FRESH = { restarts: 0, steps: [], events: [] }

export function toInterrupted(steps: readonly TurnStep[]): AppError {
  const last = steps.at(-1)?.calls.at(-1)
  const where = last ? `after step ${steps.length}, which used ${last.name}` : 'before the model had answered'
  return new AppError('conflict', `The turn was interrupted ${where}`, { code: 'TURN_INTERRUPTED' })
}

export function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('')
}

function joinTexts(events: readonly ModelEvent[]): ModelEvent[] {
  const joined: ModelEvent[] = []
  for (const event of events) {
    const last = joined.at(-1)
    if (event.type === 'text' && last?.type === 'text') last.text += event.text
    else joined.push({ ...event })
  }
  return joined
}

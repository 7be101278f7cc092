/** The time limit of a call: `restart` starts it again, `clear` removes it. */
export type Deadline = { signal: AbortSignal; isOver(): boolean; restart(): void; clear(): void }

/**
 * Returns a function that starts deadlines of `timeoutMs`. Each aborts its signal `timeoutMs` after the last `restart`, or
 * when the caller's signal aborts. They share one timer, because every call has a deadline and few calls reach it.
 */
export function createDeadlines(timeoutMs: number): (caller: AbortSignal) => Deadline {
  const running = new Set<RunningDeadline>()
  let timer: Timer | null = null
  const schedule = (ms: number) => {
    timer = setTimeout(check, Math.ceil(ms))
    // The timer must not keep a command running after its last call.
    timer.unref()
  }
  const check = () => {
    timer = null
    const now = performance.now()
    let nextMs = Number.POSITIVE_INFINITY
    for (const deadline of running) {
      if (deadline.endsAt <= now) deadline.end()
      else nextMs = Math.min(nextMs, deadline.endsAt - now)
    }
    if (nextMs !== Number.POSITIVE_INFINITY) schedule(nextMs)
  }
  return (caller) => {
    if (timer === null) schedule(timeoutMs)
    return new RunningDeadline(running, timeoutMs, caller)
  }
}

class RunningDeadline implements Deadline {
  readonly #running: Set<RunningDeadline>
  readonly #timeoutMs: number
  readonly #caller: AbortSignal
  readonly #controller = new AbortController()
  #isOver = false
  endsAt: number

  constructor(running: Set<RunningDeadline>, timeoutMs: number, caller: AbortSignal) {
    this.#running = running
    this.#timeoutMs = timeoutMs
    this.#caller = caller
    this.endsAt = performance.now() + timeoutMs
    running.add(this)
    caller.addEventListener('abort', this)
    if (caller.aborted) this.handleEvent()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Runs when the caller aborts. */
  handleEvent(): void {
    this.#controller.abort(this.#caller.reason)
  }

  isOver(): boolean {
    return this.#isOver
  }

  /** Only stores the time, because every chunk of a stream calls this. */
  restart(): void {
    this.endsAt = performance.now() + this.#timeoutMs
  }

  clear(): void {
    this.#running.delete(this)
    this.#caller.removeEventListener('abort', this)
  }

  end(): void {
    this.#running.delete(this)
    this.#isOver = true
    this.#controller.abort()
  }
}

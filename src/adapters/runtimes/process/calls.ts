import { TaskQueue, withAppErrors } from '../../../core/concurrency/keyed-queue.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { runtimeClosed } from '../contract/runtime.ts'
import type { ProcessTiming } from './life.ts'

/** `afterEach` is called whatever a call ended with. */
type CallQueueDeps = { id: string; log: Log; afterEach: () => void }

/** What is asked of one agent, one thing at a time in the order it came. */
export class CallQueue {
  readonly #deps: CallQueueDeps
  readonly #queue = new TaskQueue()
  #isClosed = false

  constructor(deps: CallQueueDeps) {
    this.#deps = deps
  }

  get isIdle(): boolean {
    return this.#queue.isIdle
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** @throws AppError `unavailable` once it is closed, and what `task` throws, as an AppError. */
  enqueue<T>(task: () => Promise<T>): Promise<T> {
    return this.#run(() => {
      if (this.#isClosed) throw runtimeClosed()
      return task()
    })
  }

  /** Work nobody waits for: what goes wrong is logged, and the queue goes on. Left out once it is closed. */
  supervise(task: () => Promise<void>): void {
    this.#run(async () => {
      if (!this.#isClosed) await task()
    }).catch((error: unknown) => {
      const reason = error instanceof Error && error.cause ? errorMessage(error.cause) : errorMessage(error)
      this.#deps.log.error({ agentId: this.#deps.id, error: reason }, 'agent supervision failed')
    })
  }

  /** Takes nothing from now on, and ends with `task`, after what is under way. */
  close(task: () => Promise<void>): Promise<void> {
    this.#isClosed = true
    return this.#run(task)
  }

  #run<T>(task: () => Promise<T>): Promise<T> {
    return this.#queue.run(() => withAppErrors(task).finally(() => this.#deps.afterEach()))
  }
}

/** When an agent that has ended is started again: the more often in a row, the later. */
export class RestartTimer {
  readonly #timing: Pick<ProcessTiming, 'backoffMs'>
  #failures = 0
  #timer: Timer | null = null

  constructor(timing: Pick<ProcessTiming, 'backoffMs'>) {
    this.#timing = timing
  }

  /** The next start is the first of a new row. */
  reset(): void {
    this.#failures = 0
  }

  /** Nothing happens when a start is due already. */
  schedule(start: () => void): void {
    if (this.#timer) return
    const delayMs = this.#timing.backoffMs(this.#failures)
    this.#failures += 1
    this.#timer = setTimeout(() => {
      this.#timer = null
      start()
    }, delayMs)
    this.#timer.unref()
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }
}

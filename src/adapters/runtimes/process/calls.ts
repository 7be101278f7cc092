import { TaskQueue, withAppErrors } from '../../../core/concurrency/keyed-queue.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { runtimeClosed } from '../contract/runtime.ts'
import type { ProcessTiming } from './life.ts'

/** `afterEach` is called after every call, also a failed one. */
type CallQueueDeps = { id: string; log: Log; afterEach: () => void }

/** Serializes the calls of one agent. */
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

  /** @throws AppError `unavailable` after `close`, and as `task`. */
  enqueue<T>(task: () => Promise<T>): Promise<T> {
    return this.#run(() => {
      if (this.#isClosed) throw runtimeClosed()
      return task()
    })
  }

  /** Queues work without a caller: failures are logged. Skipped after `close`. */
  supervise(task: () => Promise<void>): void {
    this.#run(async () => {
      if (!this.#isClosed) await task()
    }).catch((error: unknown) => {
      const reason = error instanceof Error && error.cause ? errorMessage(error.cause) : errorMessage(error)
      this.#deps.log.error({ agentId: this.#deps.id, error: reason }, 'agent supervision failed')
    })
  }

  /** Rejects later calls and runs `task` after the pending ones. */
  close(task: () => Promise<void>): Promise<void> {
    this.#isClosed = true
    return this.#run(task)
  }

  #run<T>(task: () => Promise<T>): Promise<T> {
    return this.#queue.run(() => withAppErrors(task).finally(() => this.#deps.afterEach()))
  }
}

/** Schedules restarts with increasing delays. */
export class RestartTimer {
  readonly #timing: Pick<ProcessTiming, 'backoffMs'>
  #failures = 0
  #timer: Timer | null = null

  constructor(timing: Pick<ProcessTiming, 'backoffMs'>) {
    this.#timing = timing
  }

  /** Resets the delay. */
  reset(): void {
    this.#failures = 0
  }

  /** Schedules a start unless one is scheduled. */
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

import { AppError } from '../errors.ts'
import { spareTurn } from './timing.ts'

/** Runs tasks one at a time in call order; a failure does not stop the next. */
export class TaskQueue {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  get isIdle(): boolean {
    return this.#waiting === 0
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    this.#waiting += 1
    const result = this.#last.then(task)
    // The caller gets the failure; the next task does not.
    this.#last = result.catch(() => undefined)
    try {
      return await result
    } finally {
      this.#waiting -= 1
    }
  }
}

/** Runs tasks with the same key one after another, and those with different keys concurrently. */
export class KeyedQueue {
  readonly #queues = new Map<string, TaskQueue>()

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key) ?? new TaskQueue()
    this.#queues.set(key, queue)
    try {
      return await queue.run(task)
    } finally {
      if (queue.isIdle) this.#queues.delete(key)
    }
  }

  /** Waits for the tasks enqueued so far. */
  async settle(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.run(async () => {})))
  }
}

export type RunInLane = KeyedQueue['run']

export function createLanes(): RunInLane {
  const queue = new KeyedQueue()
  return (key, task) => queue.run(key, task)
}

/** Wraps other errors. @throws AppError `internal` for errors that are not AppErrors, with the original as cause. */
export async function withAppErrors<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task()
  } catch (cause) {
    throw cause instanceof AppError ? cause : new AppError('internal', 'The agent runtime failed', {}, { cause })
  }
}

/** Limits how many callers hold a permit; other callers wait in call order. */
type Semaphore = {
  /** @throws AppError `unavailable` when too many callers wait, or the signal's reason. */
  acquire(signal?: AbortSignal): Promise<void>
  release(): void
}

export function createSemaphore(permits: number, maxWaiting: number): Semaphore {
  const waiting = new Set<() => void>()
  let free = permits
  return {
    acquire(signal) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      if (free > 0) {
        free -= 1
        return Promise.resolve()
      }
      if (waiting.size >= maxWaiting) {
        return Promise.reject(new AppError('unavailable', 'The server is busy, try again in a moment'))
      }
      return new Promise((resolve, reject) => {
        const start = () => {
          signal?.removeEventListener('abort', abort)
          resolve()
        }
        const abort = () => {
          waiting.delete(start)
          reject(signal?.reason)
        }
        waiting.add(start)
        signal?.addEventListener('abort', abort, { once: true })
      })
    },
    release() {
      const [next] = waiting
      if (!next) {
        free += 1
        return
      }
      waiting.delete(next)
      next()
    },
  }
}

/**
 * Runs `work` for every item with `lanes` workers, starting each item in its own turn of the event loop.
 * @throws the first error of `work`; items under way continue.
 */
export async function inLanes<Item>(
  items: Iterable<Item>,
  lanes: number,
  work: (item: Item) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const waiting = items[Symbol.iterator]()
  const lane = async () => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) {
      await spareTurn()
      if (signal?.aborted) return
      await work(next.value)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

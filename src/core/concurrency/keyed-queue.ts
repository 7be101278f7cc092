import { AppError } from '../errors.ts'

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

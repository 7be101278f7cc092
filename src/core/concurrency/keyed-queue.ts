import { AppError } from '../errors.ts'

/** Does one task at a time, in the order they came; one that fails holds up none. */
export class TaskQueue {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  get isIdle(): boolean {
    return this.#waiting === 0
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    this.#waiting += 1
    const result = this.#last.then(task)
    // Who called gets the failure; the next task does not.
    this.#last = result.catch(() => undefined)
    try {
      return await result
    } finally {
      this.#waiting -= 1
    }
  }
}

/** Does the tasks of one key one after another, and those of different keys at once. */
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

  /** Waits for the tasks that were given so far. */
  async settle(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.run(async () => {})))
  }
}

export type RunInLane = KeyedQueue['run']

export function createLanes(): RunInLane {
  const queue = new KeyedQueue()
  return (key, task) => queue.run(key, task)
}

/** @throws AppError `internal` for whatever a task throws that is not an AppError; what it was is the cause. */
export async function withAppErrors<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task()
  } catch (cause) {
    throw cause instanceof AppError ? cause : new AppError('internal', 'The agent runtime failed', {}, { cause })
  }
}

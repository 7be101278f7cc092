import { AppError } from './errors.ts'

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

/** Runs tasks of one key one after another, and those of different keys at once. */
export type RunInLane = <T>(key: string, task: () => Promise<T>) => Promise<T>

export function createLanes(): RunInLane {
  const queues = new Map<string, TaskQueue>()
  return async (key, task) => {
    const queue = queues.get(key) ?? new TaskQueue()
    queues.set(key, queue)
    try {
      return await queue.run(task)
    } finally {
      if (queue.isIdle) queues.delete(key)
    }
  }
}

/** @throws AppError `internal` for whatever a task throws that is not an AppError; what it was is the cause. */
export async function withAppErrors<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task()
  } catch (cause) {
    throw cause instanceof AppError ? cause : new AppError('internal', 'The agent runtime failed', {}, { cause })
  }
}

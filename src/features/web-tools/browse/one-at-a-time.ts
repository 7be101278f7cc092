import { TaskQueue } from '../../../core/keyed-queue.ts'
import type { Workspace } from './open-workspace.ts'

/** Changes of one workspace happen one after another, so that nothing of ours comes between a check and what depends on it. */
export type OneAtATime = <T>(workspace: Workspace, task: () => Promise<T>) => Promise<T>

export function createOneAtATime(): OneAtATime {
  const queues = new Map<string, TaskQueue>()
  return async ({ agent }, task) => {
    const key = agent?.id ?? ''
    const queue = queues.get(key) ?? new TaskQueue()
    queues.set(key, queue)
    try {
      return await queue.run(task)
    } finally {
      if (queue.isIdle) queues.delete(key)
    }
  }
}

import { createLanes } from '../../../core/concurrency/keyed-queue.ts'
import type { Workspace } from './open-workspace.ts'

/** Changes of one workspace happen one after another, so that nothing of ours comes between a check and what depends on it. */
export type OneAtATime = <T>(workspace: Workspace, task: () => Promise<T>) => Promise<T>

export function createOneAtATime(): OneAtATime {
  const runInLane = createLanes()
  return ({ agent }, task) => runInLane(agent?.id ?? '', task)
}

import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { type DeliverDeps, deliverRun } from './deliver.ts'
import { type DueDeps, replanTasks, startDueTasks } from './due.ts'
import { finishRun, RUN_JOB, RunJob } from './runs.ts'

const CHECK_MS = 5000
/** An agent that restarts is back within the pauses of the queue. */
const ATTEMPTS = 4
/** Clocks that are kept right step by less than that. */
const TOLERATED_MS = 60_000

/** Starts scheduled tasks when they are due. */
export function scheduledTasksJob(deps: DueDeps): RepeatingJob {
  let checkedAt = Number.POSITIVE_INFINITY
  return {
    name: 'scheduled-tasks.due',
    everyMs: CHECK_MS,
    async run(signal) {
      const now = deps.clock.now().getTime()
      if (now < checkedAt - TOLERATED_MS) await replanTasks(deps, signal)
      checkedAt = now
      await startDueTasks(deps, signal)
    },
  }
}

/** Brings the prompt of a task or a heartbeat to its agent. Tried again only while nothing reached the agent. */
export function scheduledRunJob(deps: DeliverDeps): JobKind {
  return defineJob({
    kind: RUN_JOB,
    payload: RunJob,
    maxAttempts: ATTEMPTS,
    isSlow: true,
    run: (job, signal) => deliverRun(deps, job, signal),
    onDead: async ({ runId }, error) => {
      await write(deps.db, (tx) => finishRun(deps, tx, runId, error instanceof Error ? error.message : String(error)))
    },
  })
}

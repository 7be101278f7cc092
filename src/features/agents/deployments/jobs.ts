import { z } from 'zod'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { finishDeletion, Removal } from './delete.ts'
import { type FollowDownsDeps, followDowns } from './follow-downs.ts'
import { DEPLOY_JOB, REMOVE_JOB } from './operations.ts'
import { createReconciler, type ReconcileDeps } from './reconcile.ts'
import { giveUp, runOperations } from './run.ts'
import type { OperationDeps } from './start.ts'
import { EMPTY_TRASH_JOB, emptyTrash, forgetTrash } from './trash.ts'
import { watchAgents } from './watch.ts'

const RECONCILE_MS = 30_000
const HOUR_MS = 3_600_000
/** How soon agents are followed, and again when that failed. */
const FOLLOW_MS = 100
/** How soon the runtimes are listened to again when that failed. */
const WATCH_AGAIN_MS = 5000

const AgentJob = z.object({ agentId: z.string() })

export function deployJob(deps: OperationDeps): JobKind {
  return defineJob({
    kind: DEPLOY_JOB,
    payload: AgentJob,
    run: ({ agentId }, signal) => runOperations(deps, agentId, signal),
    onDead: ({ agentId }) => giveUp(deps, agentId),
  })
}

export function removeJob(deps: OperationDeps): JobKind {
  return defineJob({
    kind: REMOVE_JOB,
    payload: Removal,
    // An engine may be away for days: what it runs is ended when it is back.
    maxAttempts: Number.POSITIVE_INFINITY,
    run: async (removal) => {
      await finishDeletion(deps, removal)
      deps.log.info({ agentId: removal.agentId }, 'what ran for a deleted agent was removed')
    },
  })
}

export function emptyTrashJob(deps: { snapshotDir: string }): JobKind {
  return defineJob({
    kind: EMPTY_TRASH_JOB,
    payload: z.object({ ownerId: z.string() }),
    run: ({ ownerId }) => emptyTrash(deps, ownerId),
  })
}

export function trashJob(deps: Parameters<typeof forgetTrash>[0]): RepeatingJob {
  return { name: 'agents.trash', everyMs: HOUR_MS, run: () => forgetTrash(deps) }
}

export function reconcileJob(deps: ReconcileDeps): RepeatingJob {
  const reconcile = createReconciler(deps)
  return { name: 'agents.reconcile', everyMs: RECONCILE_MS, run: () => reconcile() }
}

/** Owners are told at once when an agent is down, and when it is back. */
export function followDownsJob(deps: FollowDownsDeps): RepeatingJob {
  return { name: 'agents.downs', everyMs: FOLLOW_MS, run: (signal) => followDowns(deps, signal) }
}

export function watchJob(deps: ReconcileDeps): RepeatingJob {
  return { name: 'agents.watch', everyMs: WATCH_AGAIN_MS, run: (signal) => watchAgents(deps, signal) }
}

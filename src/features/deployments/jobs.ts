import { z } from 'zod'
import { defineJob, type JobKind } from '../../jobs/queue.ts'
import type { RepeatingJob } from '../../jobs/runner.ts'
import { REMOVE_JOB } from '../agents/delete.ts'
import { DEPLOY_JOB } from './operations.ts'
import { createReconciler, type ReconcileDeps } from './reconcile.ts'
import { giveUp, runOperations } from './run.ts'
import { removeSnapshots } from './snapshots.ts'
import type { OperationDeps } from './start.ts'
import { watchAgents } from './watch.ts'

const RECONCILE_MS = 30_000
/** How soon the engine is listened to again when it could not be. */
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
    payload: AgentJob,
    async run({ agentId }) {
      await deps.agentTurns.take(agentId, () => deps.runtime.remove(agentId))
      await removeSnapshots(deps, agentId)
    },
  })
}

export function reconcileJob(deps: ReconcileDeps): RepeatingJob {
  const reconcile = createReconciler(deps)
  return { name: 'agents.reconcile', everyMs: RECONCILE_MS, run: () => reconcile() }
}

export function watchJob(deps: ReconcileDeps): RepeatingJob {
  return { name: 'agents.watch', everyMs: WATCH_AGAIN_MS, run: (signal) => watchAgents(deps, signal) }
}

import { z } from 'zod'
import { write } from '../../db/write.ts'
import { defineJob, type JobKind } from '../../jobs/queue.ts'
import type { RepeatingJob } from '../../jobs/runner.ts'
import { REMOVE_JOB } from '../agents/delete.ts'
import { type ReconcileDeps, reconcileAgents } from './reconcile.ts'
import { DEPLOY_JOB } from './request.ts'
import { markFailed, type RunDeps, runDeployment } from './run.ts'

const RECONCILE_MS = 30_000

const AgentJob = z.object({ agentId: z.string() })

export function deployJob(deps: RunDeps): JobKind {
  return defineJob({
    kind: DEPLOY_JOB,
    payload: AgentJob,
    run: ({ agentId }, signal) => runDeployment(deps, agentId, signal),
    onDead: async ({ agentId }) => {
      await write(deps.db, (tx) => markFailed(tx, agentId, 'The deployment was given up', deps.clock.now()))
    },
  })
}

export function removeJob(deps: RunDeps): JobKind {
  return defineJob({ kind: REMOVE_JOB, payload: AgentJob, run: ({ agentId }) => deps.runtime.remove(agentId) })
}

export function reconcileJob(deps: ReconcileDeps): RepeatingJob {
  return { name: 'agents.reconcile', everyMs: RECONCILE_MS, run: () => reconcileAgents(deps) }
}

import { z } from 'zod'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import { DEPLOY_JOB, REMOVE_JOB } from '../operations/operations.ts'
import { finishDeletion, Removal } from './delete.ts'
import { giveUp, runOperations } from './run.ts'
import type { OperationDeps } from './start.ts'

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

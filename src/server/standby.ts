import { type AgentGateway, createAgentGateway, createNoGateway } from '../adapters/gateways/gateway.ts'
import { createNoRuntimes, type Runtimes } from '../adapters/runtimes/contract/runtimes.ts'
import type { Config } from '../core/config.ts'
import { AppError } from '../core/errors.ts'
import { DEPLOY_JOB, REMOVE_JOB } from '../features/agents/operations/operations.ts'
import type { Base } from '../features/base.ts'
import { DELIVER_MAIL_JOB } from '../features/conversations/inbox/receive.ts'
import { RUN_JOB } from '../features/conversations/scheduled-tasks/runs.ts'
import { SUMMARIZE_JOB } from '../features/conversations/swarms/ask.ts'
import { ASK_MEMBER_JOB } from '../features/conversations/swarms/start-run.ts'
import { ASK_BY_WEBHOOK_JOB } from '../features/conversations/webhook-channel/receive.ts'
import type { Enqueue } from '../jobs/queue.ts'

/** Error message of a standby server. It does not reveal where the original runs. */
export const STANDBY_REASON = 'This is a copy of another installation: agents are left alone here'

/** Jobs that change or contact agents. */
const OF_AGENTS: ReadonlySet<string> = new Set([
  DEPLOY_JOB,
  REMOVE_JOB,
  RUN_JOB,
  ASK_MEMBER_JOB,
  SUMMARIZE_JOB,
  DELIVER_MAIL_JOB,
  ASK_BY_WEBHOOK_JOB,
])

/** Returns runtimes that refuse every operation on agents. */
export function createStandbyRuntimes({ runtime }: Config['agents']): Runtimes {
  return createNoRuntimes(runtime === 'auto' ? 'process' : runtime, STANDBY_REASON)
}

/** Returns the client of agent gateways; on standby it refuses every call. */
export function gatewayOf({ isStandby, fetch }: Pick<Base, 'fetch'> & { isStandby: boolean }): AgentGateway {
  return isStandby ? createNoGateway(STANDBY_REASON) : createAgentGateway({ fetch })
}

/** Rejects agent jobs on standby: they would run at takeover, or never. */
export function refuseAgentJobs(enqueue: Enqueue): Enqueue {
  return (tx, kind, payload, options) => {
    if (OF_AGENTS.has(kind)) throw new AppError('unavailable', STANDBY_REASON)
    enqueue(tx, kind, payload, options)
  }
}

import type { Log } from '../../../core/log.ts'
import { currentRequestId } from '../../../core/request-id.ts'
import type { Principal } from '../../../http/env.ts'

/** One line for what became of an agent at somebody's request: `agent stopped`. */
export function tellOfAgent(log: Log, principal: Principal, agentId: string, what: string): void {
  const by = principal.kind === 'user' ? principal.user.id : principal.kind
  log.info({ requestId: currentRequestId(), agentId, by }, `agent ${what}`)
}

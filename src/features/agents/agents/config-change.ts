import type { Clock } from '../../../core/clock.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { requestOperation, toRequester } from '../operations/operations.ts'
import type { CheckTokens } from '../registry/check-tokens.ts'
import { agentSettings, changeSettings, hasToStayAwake } from '../registry/config.ts'
import { getAgent } from '../registry/list.ts'
import type { ConfigRequest } from '../registry/schemas.ts'
import type { AgentRow } from '../registry/tables.ts'

export type ConfigDeps = { db: Db; clock: Clock; sealer: Sealer; enqueue: Enqueue; checkTokens: CheckTokens }

/**
 * Changes what `request` names. An agent that runs or sleeps is deployed anew in the background when it would notice; one
 * that sleeps and is not to sleep any more is brought up.
 * @throws AppError `not_found` for a missing agent and for someone else's, and as `CheckTokens`: then nothing is saved.
 */
export async function changeConfig(
  deps: ConfigDeps,
  principal: Principal,
  id: string,
  request: ConfigRequest,
): Promise<AgentRow> {
  const { plan, ...rest } = request
  await deps.checkTokens(request, getAgent(deps.db, principal, id))
  // Decisions, 11: a plan is paid for, not written into a request.
  const change = principal.kind === 'operator' || principal.user.isAdmin ? request : rest
  return write(deps.db, (tx) => {
    const before = getAgent(tx, principal, id)
    const after = changeSettings(deps, tx, before, change)
    const isUp = before.status === 'running' || before.status === 'sleeping' || before.status === 'provisioning'
    const isWoken = before.status === 'sleeping' && hasToStayAwake(after)
    const isSame = toPrint(deps.sealer, before) === toPrint(deps.sealer, after)
    if (!isUp || (isSame && !isWoken)) return after
    requestOperation(deps, tx, id, { kind: 'deploy', requestedBy: toRequester(principal) })
    return getAgent(tx, principal, id)
  })
}

/** All of an agent's settings that its deployment is made from. */
function toPrint(sealer: Sealer, agent: AgentRow): string {
  return JSON.stringify([agent.model, agent.plan, agentSettings(sealer, agent)])
}

import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { requestOperation, toRequester } from '../operations/operations.ts'
import { getAgent, ownedBy } from '../registry/agents.ts'
import type { CheckModel, CheckTokens } from '../registry/checks.ts'
import { agentSettings, changeSettings, hasProviderKey, hasToStayAwake } from '../registry/config.ts'
import { requirePlanOfAgent } from '../registry/limits.ts'
import type { ConfigRequest, UpdateAgentRequest } from '../registry/schemas.ts'
import { type AgentRow, agentLabels, agents } from '../registry/tables.ts'

/** Changes plan, provider and settings, as `applySettings`. Fields beside `config` override those in it. */
export async function updateAgent(
  deps: ConfigDeps,
  principal: Principal,
  id: string,
  { plan, aiProvider, config }: UpdateAgentRequest,
): Promise<AgentRow> {
  return applySettings(deps, principal, id, { ...config, ...(plan && { plan }), ...(aiProvider && { aiProvider }) })
}

/** Gives an agent another name. @throws AppError `not_found` for a missing agent and for someone else's. */
export async function renameAgent(
  deps: { db: Db; clock: Clock },
  principal: Principal,
  id: string,
  name: string,
): Promise<AgentRow> {
  return changeOwnRow(deps, principal, id, { name })
}

async function changeOwnRow(
  deps: { db: Db; clock: Clock },
  principal: Principal,
  id: string,
  columns: Partial<AgentRow>,
): Promise<AgentRow> {
  const change = { ...columns, updatedAt: deps.clock.now() }
  const isOwn = and(eq(agents.id, id), ownedBy(principal))
  const changed = await write(deps.db, (tx) => tx.update(agents).set(change).where(isOwn).returning().get())
  if (!changed) throw new AppError('not_found', 'Agent not found')
  return changed
}

export type ConfigDeps = {
  db: Db
  clock: Clock
  sealer: Sealer
  enqueue: Enqueue
  checkTokens: CheckTokens
  checkModel: CheckModel
}

/**
 * Changes settings as `applySettings`. Users choose the plan of an agent by `PUT /api/agents/:id`.
 * @throws AppError `invalid` for another plan than the agent has.
 */
export async function changeConfig(
  deps: ConfigDeps,
  principal: Principal,
  id: string,
  request: ConfigRequest,
): Promise<AgentRow> {
  const { plan } = getAgent(deps.db, principal, id)
  const mayChoose = principal.kind === 'operator' || principal.user.isAdmin
  if (!mayChoose && request.plan !== undefined && request.plan !== plan)
    throw new AppError('invalid', 'plan is no setting: PUT /api/agents/:id changes it, within your own plan')
  return applySettings(deps, principal, id, request)
}

/**
 * Changes what `request` names. An agent that runs or sleeps is deployed anew in the background when it would notice; one
 * that sleeps and is not to sleep any more is brought up.
 * @throws AppError `not_found` for a missing agent and for someone else's, `invalid` for an unknown plan, `payment_required`
 * for a size beyond the owner's plan, and as `CheckModel` and `CheckTokens`: then nothing is saved.
 */
async function applySettings(
  deps: ConfigDeps,
  principal: Principal,
  id: string,
  request: ConfigRequest,
): Promise<AgentRow> {
  const present = getAgent(deps.db, principal, id)
  // A client may send back what it was shown: only a change is checked.
  if (request.plan !== present.plan) requirePlanOfAgent(principal, request.plan)
  const hasOwnKey = request.apiKey === undefined ? hasProviderKey(deps.sealer, present) : request.apiKey !== null
  if (request.model !== present.model) deps.checkModel(request.model, { ownerId: present.ownerId, hasOwnKey })
  await deps.checkTokens(request, present)
  return write(deps.db, (tx) => {
    const before = getAgent(tx, principal, id)
    const after = changeSettings(deps, tx, before, request)
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

/** Gives an agent these labels and no others. @throws AppError `not_found` for someone else's agent. */
export async function setLabels(
  { db }: { db: Db },
  principal: Principal,
  id: string,
  labels: readonly string[],
): Promise<void> {
  await write(db, (tx) => {
    const agentId = getAgent(tx, principal, id).id
    tx.delete(agentLabels).where(eq(agentLabels.agentId, agentId)).run()
    if (labels.length > 0)
      tx.insert(agentLabels)
        .values(labels.map((label) => ({ agentId, label })))
        .run()
  })
}

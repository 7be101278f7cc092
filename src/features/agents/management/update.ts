import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import type { Base } from '../../base.ts'
import { requestOperation, toRequester } from '../operations/operations.ts'
import { getAgent, ownedBy } from '../registry/agents.ts'
import type { CheckModel, CheckTokens } from '../registry/checks.ts'
import { agentSettings, changeSettings, hasProviderKey, hasToStayAwake } from '../registry/config.ts'
import { requirePlanOfAgent } from '../registry/limits.ts'
import type { ChangeAgentRequest, ConfigRequest, UpdateAgentRequest } from '../registry/schemas.ts'
import { type AgentRow, agentLabels, agents } from '../registry/tables.ts'
import { recordRevision } from '../revisions/record.ts'

/** Changes plan, provider and settings like `applySettings`. Top-level fields override those in `config`. */
export async function updateAgent(
  deps: ConfigDeps,
  principal: Principal,
  id: string,
  { plan, aiProvider, config }: UpdateAgentRequest,
): Promise<AgentRow> {
  return applySettings(deps, principal, id, { ...config, ...(plan && { plan }), ...(aiProvider && { aiProvider }) })
}

/** Changes the name, logging or guardrails of an agent. @throws AppError `not_found` for a missing or foreign agent. */
export async function changeAgent(
  deps: Base,
  principal: Principal,
  id: string,
  { name, logBodies, guardrails }: ChangeAgentRequest,
): Promise<AgentRow> {
  return changeOwnRow(deps, principal, id, {
    ...(name !== undefined && { name }),
    ...(logBodies !== undefined && { logBodies }),
    ...(guardrails !== undefined && { guardrails }),
  })
}

async function changeOwnRow(
  deps: Base,
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

export type ConfigDeps = Base & { checkTokens: CheckTokens; checkModel: CheckModel }

/**
 * Changes settings like `applySettings`. A user changes the plan with `PUT /api/agents/:id` instead.
 * @throws AppError `invalid` for a plan other than the agent's own.
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
 * Changes the settings in `request`. A running or sleeping agent is redeployed in the background when its deployment
 * changes, and a sleeping one is woken when it must stay awake.
 * @throws AppError `not_found` for a missing or foreign agent, `invalid` for an unknown plan, `payment_required` for a
 * size beyond the owner's plan, and as `CheckModel` and `CheckTokens`; nothing is saved then.
 */
async function applySettings(
  deps: ConfigDeps,
  principal: Principal,
  id: string,
  request: ConfigRequest,
): Promise<AgentRow> {
  const present = getAgent(deps.db, principal, id)
  // Clients may send back the settings they were shown, so only changed values are checked.
  if (request.plan !== present.plan) requirePlanOfAgent(principal, request.plan)
  const hasOwnKey = request.apiKey === undefined ? hasProviderKey(deps.sealer, present) : request.apiKey !== null
  if (request.model !== present.model) deps.checkModel(request.model, { ownerId: present.ownerId, hasOwnKey })
  await deps.checkTokens(request, present)
  return write(deps.db, (tx) => {
    const before = getAgent(tx, principal, id)
    const after = changeSettings(deps, tx, before, request)
    recordRevision(deps, tx, id, { author: toRequester(principal) })
    const isUp = before.status === 'running' || before.status === 'sleeping' || before.status === 'provisioning'
    const isWoken = before.status === 'sleeping' && hasToStayAwake(after)
    const isSame = toPrint(deps.sealer, before) === toPrint(deps.sealer, after)
    if (!isUp || (isSame && !isWoken)) return after
    requestOperation(deps, tx, id, { kind: 'deploy', requestedBy: toRequester(principal) })
    return getAgent(tx, principal, id)
  })
}

/** Serializes every setting that the deployment depends on. */
function toPrint(sealer: Sealer, agent: AgentRow): string {
  return JSON.stringify([agent.model, agent.plan, agentSettings(sealer, agent)])
}

/** Replaces the labels of an agent. @throws AppError `not_found` for a foreign agent. */
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

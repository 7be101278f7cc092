import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal, SignedInUser } from '../../../http/env.ts'
import { type CreateDeps, insertAgent } from '../registry/create.ts'
import { requireAgentQuota, requireAgentQuotaFor, requireProvisioning, requireSubscription } from '../registry/quota.ts'
import type { CreateAgentRequest } from '../registry/schemas.ts'
import type { AgentRow } from '../registry/tables.ts'
import { tellOfAgent } from '../registry/tell.ts'
import { requireSize } from './update.ts'

export type CreateOwnDeps = CreateDeps & { db: Db; log: Log }

/**
 * Adds an agent of `owner` without starting it. It can be started at any time, so it takes what a provisioned one takes.
 * @throws AppError `payment_required` without a subscription, `limited` {current, limit} at the cap, `unavailable` when
 * provisioning is switched off.
 */
export async function createAgent(
  deps: CreateOwnDeps & { killSwitch: boolean },
  owner: SignedInUser,
  { name, config }: CreateAgentRequest,
): Promise<AgentRow> {
  requireProvisioning(deps)
  if (!owner.isAdmin) requireSubscription(owner)
  requireSize(owner, config?.plan)
  const { plan = owner.plan, aiProvider = 'openrouter' } = config ?? {}
  const agent = await write(deps.db, (tx) => {
    if (!owner.isAdmin) requireAgentQuota(tx, owner, undefined)
    return insertAgent(deps, tx, { ownerId: owner.id, name, model: 'default', plan, aiProvider, status: 'pending' })
  })
  tellOfAgent(deps.log, { kind: 'user', user: owner }, agent.id, 'created')
  return agent
}

/**
 * Adds an agent for whoever the internal key vouches for; one that it makes for nobody is the operator's. What may be started
 * is no question here, how many there are is.
 * @throws AppError `limited` {current, limit} at the cap of the user's plan.
 */
export async function createAgentFor(
  deps: CreateOwnDeps,
  principal: Principal,
  { name, config }: CreateAgentRequest,
): Promise<AgentRow> {
  const { plan = 'free', aiProvider = 'openrouter' } = config ?? {}
  const ownerId = principal.kind === 'user' ? principal.user.id : null
  const agent = await write(deps.db, (tx) => {
    requireAgentQuotaFor(tx, principal)
    return insertAgent(deps, tx, { ownerId, name, model: 'default', plan, aiProvider, status: 'pending' })
  })
  tellOfAgent(deps.log, principal, agent.id, 'created')
  return agent
}

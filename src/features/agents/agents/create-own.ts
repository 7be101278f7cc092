import type { Log } from '../../../core/log.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal, SignedInUser } from '../../../http/env.ts'
import type { CheckModel } from '../registry/check-model.ts'
import type { CheckTokens } from '../registry/check-tokens.ts'
import { changeSettings } from '../registry/config.ts'
import { type CreateDeps, insertAgent } from '../registry/create.ts'
import { requireAgentQuota, requireAgentQuotaFor, requireProvisioning, requireSubscription } from '../registry/quota.ts'
import type { CreateAgentRequest } from '../registry/schemas.ts'
import { requirePlanOfAgent } from '../registry/size.ts'
import type { AgentRow } from '../registry/tables.ts'
import { tellOfAgent } from '../registry/tell.ts'

export type CreateOwnDeps = CreateDeps & { db: Db; log: Log; checkTokens: CheckTokens; checkModel: CheckModel }

/**
 * Adds an agent of `owner` without starting it. It can be started at any time, so it takes what a provisioned one takes.
 * @throws AppError `payment_required` without a subscription and for a size beyond the owner's plan, `limited` {current,
 * limit} at the cap, `unavailable` when provisioning is switched off, and as `CheckModel` and `CheckTokens`.
 */
export async function createAgent(
  deps: CreateOwnDeps & { killSwitch: boolean },
  owner: SignedInUser,
  { name, config }: CreateAgentRequest,
): Promise<AgentRow> {
  requireProvisioning(deps)
  if (!owner.isAdmin) requireSubscription(deps.db, owner)
  const principal = { kind: 'user', user: owner } as const
  const settings = { ...config, plan: config?.plan ?? owner.plan }
  await checkSettings(deps, principal, config)
  const agent = await write(deps.db, (tx) => {
    if (!owner.isAdmin) requireAgentQuota(tx, owner, undefined)
    return insertPending(deps, tx, { ownerId: owner.id, name, settings })
  })
  tellOfAgent(deps.log, principal, agent.id, 'created')
  return agent
}

/**
 * Adds an agent for whoever the internal key vouches for; one that it makes for nobody is the operator's. What may be started
 * is no question here, how many there are is.
 * @throws AppError `limited` {current, limit} at the cap of the user's plan, `payment_required` for a size beyond it, and as
 * `CheckModel` and `CheckTokens`.
 */
export async function createAgentFor(
  deps: CreateOwnDeps,
  principal: Principal,
  { name, config }: CreateAgentRequest,
): Promise<AgentRow> {
  const settings = { ...config, plan: config?.plan ?? 'free' }
  const ownerId = ownerOf(principal)
  await checkSettings(deps, principal, config)
  const agent = await write(deps.db, (tx) => {
    requireAgentQuotaFor(tx, principal)
    return insertPending(deps, tx, { ownerId, name, settings })
  })
  tellOfAgent(deps.log, principal, agent.id, 'created')
  return agent
}

type Settings = NonNullable<CreateAgentRequest['config']>

async function checkSettings(deps: CreateOwnDeps, principal: Principal, settings: Settings = {}): Promise<void> {
  requirePlanOfAgent(principal, settings.plan)
  deps.checkModel(settings.model, { ownerId: ownerOf(principal), hasOwnKey: Boolean(settings.apiKey) })
  await deps.checkTokens(settings, null)
}

function insertPending(
  deps: CreateOwnDeps,
  tx: Tx,
  { ownerId, name, settings }: { ownerId: string | null; name: string; settings: Settings & { plan: string } },
): AgentRow {
  const { plan, model = 'default', aiProvider = 'openrouter' } = settings
  const agent = insertAgent(deps, tx, { ownerId, name, model, plan, aiProvider, status: 'pending' })
  return changeSettings(deps, tx, agent, settings)
}

function ownerOf(principal: Principal): string | null {
  return principal.kind === 'user' ? principal.user.id : null
}

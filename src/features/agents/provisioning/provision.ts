import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import type { Once, Principal, SignedInUser } from '../../../http/env.ts'
import { findPlan, NO_PLAN } from '../../accounts/plans/plans.ts'
import { type ProvisionDeps, toProvider, waitUntilDeployed } from '../agents/provision.ts'
import { waitForOutcome } from '../deployments/request.ts'
import { requestOperation, toRequester } from '../operations/operations.ts'
import { changeSettings, type SettingsChange } from '../registry/config.ts'
import { insertAgent } from '../registry/create.ts'
import { getAgent } from '../registry/list.ts'
import { requireProvisioning } from '../registry/quota.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { ProvisionOrder } from './schemas.ts'
import { requireTenant, requireTenantQuota, type Tenant, type Vouched } from './tenant.ts'

export type OrderDeps = ProvisionDeps & { rules: { adminEmails: readonly string[] } }

const NO_CHANNEL = 'At least one channel token required'

/**
 * Creates an agent with its channels for a signed-in user and waits up to 15 s for it.
 * @throws AppError `unavailable` when provisioning is switched off, `invalid` without a channel, and as `requireTenant` and
 * `requireTenantQuota`.
 */
export async function provisionForUser(
  deps: OrderDeps,
  user: SignedInUser,
  order: ProvisionOrder,
  { made, note }: Once,
): Promise<AgentRow> {
  const principal = { kind: 'user', user } as const
  if (made) return waitUntilDeployed(deps, user, getAgent(deps.db, principal, made))
  requireOrder(deps, order, `${NO_CHANNEL} (telegram, whatsapp, or discord)`)
  const tenant = requireTenant(deps, principal, order)
  deps.checkModel(order.model, { ownerId: tenant.userId, hasOwnKey: order.apiKey !== undefined })
  await deps.checkTokens(order, null)
  const { id, operation } = await insertOrdered(deps, principal, tenant, order, note)
  return waitForOutcome(deps, principal, id, operation)
}

/** As `provisionForUser`, for a service. */
export async function provisionForTenant(
  deps: OrderDeps,
  principal: Principal,
  order: ProvisionOrder,
  { note, ...vouched }: Vouched & Pick<Once, 'note'>,
): Promise<AgentRow> {
  requireOrder(deps, order, `${NO_CHANNEL} (telegramToken, discordBotToken, or whatsappToken)`)
  const tenant = requireTenant(deps, principal, order, vouched)
  deps.checkModel(order.model, { ownerId: tenant.userId, hasOwnKey: order.apiKey !== undefined })
  await deps.checkTokens(order, null)
  const { id, operation } = await insertOrdered(deps, principal, tenant, order, note)
  return waitForOutcome(deps, { kind: 'operator' }, id, operation)
}

/** What the runtime calls the state of a container; undefined when it cannot be asked. */
export async function findContainer(
  runtimes: Pick<Runtimes, 'runtimeOf'>,
  agent: AgentRow,
): Promise<{ name: string; status: string } | undefined> {
  try {
    const inspection = await runtimes.runtimeOf(agent).inspect(agent.id)
    return { name: agent.id, status: inspection?.state ?? 'missing' }
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}

function requireOrder(deps: { killSwitch: boolean }, order: ProvisionOrder, message: string): void {
  requireProvisioning(deps)
  const hasChannel = order.telegramToken ?? order.discordBotToken ?? order.whatsappToken
  const needsNone = order.autoProvision || order.agentType === 'business'
  if (!hasChannel && !needsNone) throw new AppError('invalid', message)
}

/** The row, what it is made with, and the deployment, in one closure. */
function insertOrdered(
  deps: OrderDeps,
  principal: Principal,
  tenant: Tenant,
  order: ProvisionOrder,
  note: Once['note'],
): Promise<{ id: string; operation: number }> {
  return write(deps.db, (tx) => {
    requireTenantQuota(tx, tenant)
    const plan = findPlan(tx, tenant.plan) ?? NO_PLAN
    const model = order.model ?? deps.catalogue.findDefault(plan, tenant.userId)?.id ?? 'default'
    const agent = insertAgent(deps, tx, {
      ownerId: tenant.userId,
      name: order.name,
      model,
      plan: tenant.plan,
      aiProvider: toProvider(model, order.aiProvider ?? deps.aggregator),
      status: 'provisioning',
    })
    note(tx, agent.id)
    changeSettings(deps, tx, agent, toSettings(tenant, order))
    const wanted = { kind: 'deploy', requestedBy: toRequester(principal) } as const
    return { id: agent.id, operation: requestOperation(deps, tx, agent.id, wanted) }
  })
}

function toSettings(tenant: Tenant, order: ProvisionOrder): SettingsChange {
  return {
    telegramToken: order.telegramToken,
    telegramUserId: order.telegramUserId,
    discordBotToken: order.discordBotToken,
    whatsappToken: order.whatsappToken,
    apiKey: order.apiKey,
    ownerIds: order.ownerIds,
    skills: order.skills,
    agentType: order.agentType,
    ...(tenant.email && { email: tenant.email }),
    ...(tenant.subscriptionId && { subscriptionId: tenant.subscriptionId }),
  }
}

import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once, Principal, SignedInUser } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { findPlan, isPlanName, NO_PLAN, PLAN_NAMES, requirePlan } from '../../accounts/plans/plans.ts'
import { users } from '../../accounts/users/tables.ts'
import { waitForOutcome } from '../deployments/request.ts'
import { type ProvisionDeps, toProvider, waitUntilDeployed } from '../management/create.ts'
import { requestOperation, toRequester } from '../operations/operations.ts'
import { countAgents, getAgent, insertAgent } from '../registry/agents.ts'
import { changeSettings, type SettingsChange } from '../registry/config.ts'
import { requireProvisioning } from '../registry/limits.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { recordRevision } from '../revisions/record.ts'
import type { ProvisionOrder } from './schemas.ts'

export type OrderDeps = ProvisionDeps & { rules: { adminEmails: readonly string[] } }

const NO_CHANNEL = 'At least one channel token required'

/**
 * Creates an agent with its channels for a signed-in user and waits up to 15 s for it.
 * @throws AppError `unavailable` when provisioning is switched off, `invalid` without a channel, and as `requireTenant`
 * and `requireTenantQuota`.
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

/** Provisions like `provisionForUser`, for a service. */
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

/** Returns the state of a container; undefined when the runtime does not respond. */
export async function findContainerStatus(
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

/** Inserts the agent, its settings and the deployment in one transaction. */
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
    recordRevision(deps, tx, agent.id, { author: toRequester(principal) })
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

/** The customer of an agent; `userId` is null without an account. */
type Tenant = {
  userId: string | null
  email: string | null
  subscriptionId: string | null
  plan: string
  isAdmin: boolean
}

/** Tenant details in request headers, vouched for by the internal key. */
export type Vouched = { email?: string | undefined; plan?: string | undefined; subscriptionId?: string | undefined }

/**
 * Returns the paying customer of an order: the user, or the tenant that the operator vouches for.
 * @throws AppError `invalid` for an unknown plan, `payment_required` PAYMENT_REQUIRED without a plan or a
 * subscription.
 */
function requireTenant(
  deps: { db: Db; rules: { adminEmails: readonly string[] } },
  principal: Principal,
  order: ProvisionOrder,
  vouched: Vouched = {},
): Tenant {
  if (principal.kind === 'user') {
    const { id: userId, email, subscriptionId, isAdmin, plan: own } = principal.user
    const plan = isAdmin
      ? requirePaidPlan(deps.db, order.plan ?? 'network')
      : smallerPlan(deps.db, requirePaidPlan(deps.db, own), order.plan)
    return requirePaid({ userId, email, subscriptionId, plan, isAdmin })
  }
  const email = order.email ?? vouched.email?.toLowerCase() ?? null
  const isAdmin = email !== null && deps.rules.adminEmails.includes(email)
  const plan = requirePaidPlan(deps.db, order.plan ?? vouched.plan ?? (isAdmin ? 'network' : undefined))
  const subscriptionId = order.subscriptionId ?? vouched.subscriptionId ?? null
  return requirePaid({ userId: email && findUserId(deps.db, email), email, subscriptionId, plan, isAdmin })
}

/**
 * Checks the plan's number of agents; administrators have no cap.
 * @throws AppError `limited` AGENT_LIMIT_REACHED {current, limit}.
 */
function requireTenantQuota(tx: Tx, tenant: Tenant): void {
  const limit = findPlan(tx, tenant.plan)?.agents ?? null
  if (tenant.isAdmin || limit === null) return
  const current = countForTenant(tx, tenant)
  const message = `Agent limit reached. Your ${tenant.plan} plan allows ${limit} agent(s). Upgrade to add more.`
  requireQuota({ current, limit, message, extra: { code: 'AGENT_LIMIT_REACHED', current, limit } })
}

function requirePaidPlan(db: Db, name: string | undefined): string {
  if (name !== undefined && name !== 'free') return requirePlan(db, name).name
  throw new AppError('payment_required', 'No free tier. Choose a paid plan to get started.', {
    code: 'PAYMENT_REQUIRED',
  })
}

/** Returns the requested plan if it is smaller than the user's own, else the own plan. */
function smallerPlan(db: Db, own: string, requested: string | undefined): string {
  const wanted = requested === undefined || requested === 'free' ? own : requirePlan(db, requested).name
  if (!isPlanName(own) || !isPlanName(wanted)) return own
  return PLAN_NAMES.indexOf(wanted) < PLAN_NAMES.indexOf(own) ? wanted : own
}

function requirePaid(tenant: Tenant): Tenant {
  if (tenant.isAdmin || tenant.subscriptionId) return tenant
  throw new AppError('payment_required', 'Active subscription required. Subscribe at /pricing', {
    code: 'PAYMENT_REQUIRED',
  })
}

function findUserId(db: Db, email: string): string | null {
  return db.select({ id: users.id }).from(users).where(eq(users.email, email)).get()?.id ?? null
}

/** Counts a tenant's agents: by account, else by mail address, else by subscription. */
function countForTenant(tx: Tx, { userId, email, subscriptionId }: Tenant): number {
  if (userId) return countAgents(tx, userId)
  const [field, value] = email ? ['$.email', email] : ['$.subscriptionId', subscriptionId]
  const isTheirs = and(isNull(agents.ownerId), eq(sql`json_extract(${agents.config}, ${field})`, value))
  return countRows(tx, agents, isTheirs)
}

const HOUR_MS = 3_600_000

/** Deletes expired idempotent responses. */
export function idempotencyJob({ idempotency }: { idempotency: Idempotency }): RepeatingJob {
  return { name: 'idempotency.expired', everyMs: HOUR_MS, run: (signal) => idempotency.deleteExpired(signal) }
}

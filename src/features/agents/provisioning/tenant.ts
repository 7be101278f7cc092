import { and, eq, isNull, sql } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import { findPlan, isPlanName, PLAN_NAMES, requirePlan } from '../../accounts/plans/plans.ts'
import { users } from '../../accounts/users/tables.ts'
import { countAgents } from '../registry/list.ts'
import { agents } from '../registry/tables.ts'
import type { ProvisionOrder } from './schemas.ts'

/** For whom an agent is made and what they have paid for. `userId` is null for somebody who has no account here. */
export type Tenant = {
  userId: string | null
  email: string | null
  subscriptionId: string | null
  plan: string
  isAdmin: boolean
}

/** What the operator says of a tenant in the headers of the request (decisions, 2). */
export type Vouched = { email?: string | undefined; plan?: string | undefined; subscriptionId?: string | undefined }

/**
 * Who pays for an order: the user, as the database knows them, or whomever the operator vouches for.
 * @throws AppError `invalid` for a plan that does not exist, `payment_required` PAYMENT_REQUIRED without a plan or a
 * subscription.
 */
export function requireTenant(
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
 * Interface 8, agents per plan: solo 1, collective 3, label 10, network unlimited; admins have no cap.
 * @throws AppError `limited` AGENT_LIMIT_REACHED {current, limit}.
 */
export function requireTenantQuota(tx: Tx, tenant: Tenant): void {
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

/** A smaller plan of the interface may be requested; a larger one, or one of the operator's, changes nothing. */
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

/** Somebody without an account is known by their address, and without one by what they pay with. */
function countForTenant(tx: Tx, { userId, email, subscriptionId }: Tenant): number {
  if (userId) return countAgents(tx, userId)
  const [field, value] = email ? ['$.email', email] : ['$.subscriptionId', subscriptionId]
  const isTheirs = and(isNull(agents.ownerId), eq(sql`json_extract(${agents.config}, ${field})`, value))
  return countRows(tx, agents, isTheirs)
}

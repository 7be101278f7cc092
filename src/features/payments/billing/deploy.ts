import { eq, or } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { findPlan, type PlanName } from '../../accounts/plans/plans.ts'
import { type UserRow, users } from '../../accounts/users/tables.ts'
import { sizeOf } from '../../agents/registry/limits.ts'
import type { Base } from '../../base.ts'
import { cardCustomers } from '../cards/tables.ts'
import type { DeployedSubscription, DeploySubscriptionRequest } from './schemas.ts'

/** Tiers that operators may name, including retired names, and their plans. */
const PLAN_OF_TIER: Readonly<Record<string, PlanName>> = {
  solo: 'solo',
  collective: 'collective',
  label: 'label',
  network: 'network',
  underground: 'solo',
  starter: 'solo',
  pro: 'collective',
  scale: 'label',
  enterprise: 'network',
  white_glove: 'network',
}

/**
 * Activates a tier for a customer, given by the card service's customer id or the account id. Needs no payment.
 * @throws AppError `invalid`, `not_found`.
 */
export async function deploySubscription(
  deps: Base,
  { tier, customerId, stripeCustomerId, subscriptionId }: DeploySubscriptionRequest,
): Promise<DeployedSubscription> {
  const customer = customerId || stripeCustomerId
  if (!customer) throw new AppError('invalid', 'customerId is required')
  if (!tier) throw new AppError('invalid', 'tier is required')
  const plan = toPlanName(deps.db, tier)
  const user = await write(deps.db, (tx) =>
    activatePlan(tx, getCustomer(tx, customer), { plan, subscriptionId }, deps.clock.now()),
  )
  const [memoryGigabytes, cpus] = sizeOf(plan)
  const resources = { memory: `${memoryGigabytes}g`, cpus: String(cpus) }
  // Customers without a subscription get this stable id.
  return {
    success: true,
    customerId: customer,
    subscriptionId: user.subscriptionId ?? `sub_${user.id}`,
    tier,
    resources,
  }
}

function toPlanName(db: Db, tier: string): string {
  const plan = Object.hasOwn(PLAN_OF_TIER, tier) ? PLAN_OF_TIER[tier] : findPlan(db, tier)?.name
  if (!plan) throw new AppError('invalid', `Invalid tier. Valid tiers: ${Object.keys(PLAN_OF_TIER).join(', ')}`)
  return plan
}

function getCustomer(tx: Tx, customer: string) {
  const row = tx
    .select({ user: users })
    .from(users)
    .leftJoin(cardCustomers, eq(cardCustomers.userId, users.id))
    .where(or(eq(cardCustomers.customerId, customer), eq(users.id, customer)))
    .get()
  if (!row) throw new AppError('not_found', 'Customer not found')
  return row.user
}

/** Gives the user a paid plan and records it in the audit log. @returns the updated user. */
function activatePlan(
  tx: Tx,
  user: UserRow,
  { plan, subscriptionId }: { plan: string; subscriptionId: DeploySubscriptionRequest['subscriptionId'] },
  now: Date,
): UserRow {
  const columns = { plan, subscriptionStatus: 'active', subscriptionId: subscriptionId ?? user.subscriptionId } as const
  const detail = { plan: [user.plan, plan], subscriptionStatus: [user.subscriptionStatus, 'active'] }
  recordAudit(tx, { actor: 'operator', action: 'account.change', target: user.id, detail }, now)
  const change = { ...columns, updatedAt: now }
  return tx.update(users).set(change).where(eq(users.id, user.id)).returning().get()
}

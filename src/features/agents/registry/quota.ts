import { AppError } from '../../../core/errors.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Principal, SignedInUser } from '../../../http/env.ts'
import { agentsOfTier, findPlan } from '../../accounts/plans/plans.ts'
import { countAgents } from './list.ts'

/** @throws AppError `unavailable` while the operator allows no new agents. */
export function requireProvisioning({ killSwitch }: { killSwitch: boolean }): void {
  if (killSwitch) throw new AppError('unavailable', 'Provisioning is temporarily disabled. Contact support.')
}

/** @throws AppError `payment_required` SUBSCRIPTION_REQUIRED. */
export function requireSubscription(db: Db, owner: SignedInUser): void {
  if (!findPlan(db, owner.plan) || !owner.subscriptionId) {
    throw new AppError('payment_required', 'Active subscription required to provision agents', {
      code: 'SUBSCRIPTION_REQUIRED',
    })
  }
}

/**
 * The smaller of what the owner's plan and the asked-for tier allow: a tier is a size, it cannot widen a plan. An unknown one
 * allows one agent (Interface 4.4).
 * @throws AppError `limited` {current, limit}.
 */
export function requireAgentQuota(tx: Tx, owner: SignedInUser, tier: string | undefined): void {
  const plan = findPlan(tx, owner.plan)
  const ofPlan = plan ? plan.agents : 1
  const ofTier = tier ? agentsOfTier(tier) : null
  const limit = Math.min(ofPlan ?? Number.POSITIVE_INFINITY, ofTier ?? Number.POSITIVE_INFINITY)
  const current = countAgents(tx, owner.id)
  requireQuota({ current, limit, message: `Agent limit reached for ${tier ?? owner.plan} tier` })
}

/** The cap of the plan of whoever gets one more agent; the operator and admins have none. @throws AppError as `requireAgentQuota`. */
export function requireAgentQuotaFor(tx: Tx, principal: Principal): void {
  if (principal.kind === 'user' && !principal.user.isAdmin) requireAgentQuota(tx, principal.user, undefined)
}

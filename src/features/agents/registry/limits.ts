import { AppError } from '../../../core/errors.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Principal, SignedInUser } from '../../../http/env.ts'
import { agentsOfTier, findPlan } from '../../accounts/plans/plans.ts'
import { countAgents } from './agents.ts'

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

/** The size of a deployment that names no plan (Interface 4.4). */
const DEFAULT_SIZE = 'label'

/** Memory in GB and processor cores: by plan, and by the web's tiers (wire-compatible with older clients). */
const SIZES: ReadonlyMap<string, readonly [number, number]> = new Map([
  ['solo', [2, 1]],
  ['collective', [4, 2]],
  ['label', [8, 4]],
  ['network', [16, 4]],
  ['starter', [2, 1]],
  ['pro', [4, 2]],
  ['enterprise', [16, 4]],
])
const SMALLEST = [2, 1] as const

/** Returns the memory in GB and the cores of an agent of `plan`; a plan without a size of its own has the smallest. */
export function sizeOf(plan: string): readonly [number, number] {
  return SIZES.get(plan) ?? SMALLEST
}

/**
 * Rejects a plan that no agent can have, and one that the principal does not pay for. The operator and administrators may
 * choose any that exists.
 * @throws AppError `invalid` naming the plans that exist, `payment_required` PLAN_REQUIRED.
 */
export function requirePlanOfAgent(principal: Principal, plan: string | undefined): void {
  const isOwn = principal.kind === 'user' && plan === principal.user.plan
  if (plan === undefined || plan === 'free' || isOwn) return
  if (!SIZES.has(plan)) throw new AppError('invalid', `Invalid plan. Supported: ${[...SIZES.keys()].join(', ')}`)
  requireSize(principal, plan)
}

/** Rejects a size that the principal does not pay for; a name without a size is the smallest. @throws AppError `payment_required` PLAN_REQUIRED. */
export function requireSize(principal: Principal, plan: string | undefined): void {
  const payer = findPayer(principal)
  if (plan === undefined || payer === null || !isLarger(plan, payer.plan)) return
  throw new AppError('payment_required', 'Your plan does not include agents of this size', { code: 'PLAN_REQUIRED' })
}

/** Returns the plan of an agent whose request names none: the usual one, or the owner's where that is smaller. */
export function defaultSize(principal: Principal): string {
  return withinPlan(principal, DEFAULT_SIZE)
}

/** Returns `plan`, or the principal's own plan when `plan` is larger. */
export function withinPlan(principal: Principal, plan: string): string {
  const payer = findPayer(principal)
  return payer !== null && isLarger(plan, payer.plan) ? payer.plan : plan
}

function findPayer(principal: Principal): SignedInUser | null {
  return principal.kind === 'operator' || principal.user.isAdmin ? null : principal.user
}

function isLarger(plan: string, than: string): boolean {
  return sizeOf(plan)[0] > sizeOf(than)[0]
}

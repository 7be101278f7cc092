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
 * Checks the smaller of the plan's and the tier's number of agents, because a tier cannot widen a plan. An unknown tier
 * or plan allows one agent.
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

/**
 * Checks the cap of the principal's plan; the operator and administrators have none. @throws AppError as
 * `requireAgentQuota`.
 */
export function requireAgentQuotaFor(tx: Tx, principal: Principal): void {
  if (principal.kind === 'user' && !principal.user.isAdmin) requireAgentQuota(tx, principal.user, undefined)
}

/** The size of a deployment that names no plan. */
const DEFAULT_SIZE = 'label'

/** Memory in GB and processor cores, by plan and by tier. */
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

/** Returns memory in GB and cores of an agent of `plan`; unknown plans have the smallest size. */
export function sizeOf(plan: string): readonly [number, number] {
  return SIZES.get(plan) ?? SMALLEST
}

/**
 * Rejects an unknown plan and one that the principal does not pay for. The operator and administrators may choose
 * any.
 * @throws AppError `invalid` naming the plans, `payment_required` PLAN_REQUIRED.
 */
export function requirePlanOfAgent(principal: Principal, plan: string | undefined): void {
  const isOwn = principal.kind === 'user' && plan === principal.user.plan
  if (plan === undefined || plan === 'free' || isOwn) return
  if (!SIZES.has(plan)) throw new AppError('invalid', `Invalid plan. Supported: ${[...SIZES.keys()].join(', ')}`)
  requireSize(principal, plan)
}

/** Rejects a size that the principal does not pay for. @throws AppError `payment_required` PLAN_REQUIRED. */
export function requireSize(principal: Principal, plan: string | undefined): void {
  const payer = findPayer(principal)
  if (plan === undefined || payer === null || !isLarger(plan, payer.plan)) return
  throw new AppError('payment_required', 'Your plan does not include agents of this size', { code: 'PLAN_REQUIRED' })
}

/** Returns the plan of an agent whose request names none: the default, or the owner's plan when that is smaller. */
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

import { and, countDistinct, eq, ne } from 'drizzle-orm'
import { requireQuota } from '../../../core/require-quota.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { planInForce, planRequired } from '../../accounts/plans/plans.ts'
import { installedSkills } from './tables.ts'

/** A skill counts once, on however many agents it is enabled. */
export function countEnabledSkills(db: Db, userId: string, besides = ''): number {
  const isCounted = and(
    eq(installedSkills.userId, userId),
    eq(installedSkills.enabled, true),
    ne(installedSkills.skillId, besides),
  )
  return (
    db
      .select({ skills: countDistinct(installedSkills.skillId) })
      .from(installedSkills)
      .where(isCounted)
      .get()?.skills ?? 0
  )
}

/** @throws AppError `limited` {current, limit} at the plan's skills, `payment_required` without a plan. */
export function requireSkillQuota(tx: Tx, user: SignedInUser, skillId: string): void {
  const limit = planInForce(tx, user).skills
  if (limit === null) return
  if (limit === 0) throw planRequired()
  const current = countEnabledSkills(tx, user.id, skillId)
  requireQuota({ current, limit, message: 'Skill limit reached' })
}

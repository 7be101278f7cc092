import { randomBytes } from 'node:crypto'
import { and, count, eq, isNull, sum } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { referrals, type UserRow, users } from '../users/tables.ts'
import type { ReferralsResponse } from './schemas.ts'

/** What a new user and whoever brought him get, each. */
const REFERRAL_CREDITS = 10

/** A code of 8 upper-case hex digits that nobody has; the caller stores it in the same closure. */
export function newReferralCode(tx: Tx): string {
  for (;;) {
    const code = randomBytes(4).toString('hex').toUpperCase()
    if (!tx.select({ id: users.id }).from(users).where(eq(users.referralCode, code)).get()) return code
  }
}

/** Gives an account credits, once for each `cause`, in the closure that it is called in. */
export type GrantCredits = (tx: Tx, grant: { userId: string; credits: number; cause: string; memo: string }) => void
export type ReferralDeps = { clock: Clock; grantCredits: GrantCredits }

/** Credits the new user and the owner of `code`, once. A code that nobody has, or his own, gives nothing. */
export function creditReferral(tx: Tx, deps: ReferralDeps, newUser: Pick<UserRow, 'id'>, code: string): void {
  const isTheirs = and(eq(users.referralCode, code), isNull(users.disabledAt))
  const referrer = tx.select({ id: users.id }).from(users).where(isTheirs).get()
  if (!referrer || referrer.id === newUser.id) return
  const credits = REFERRAL_CREDITS
  const row = { newUserId: newUser.id, referrerId: referrer.id, credits, createdAt: deps.clock.now() }
  if (tx.insert(referrals).values(row).onConflictDoNothing().run().changes === 0) return
  const grant = (userId: string, memo: string) =>
    deps.grantCredits(tx, { userId, credits, cause: `referral:${newUser.id}:${userId}`, memo })
  grant(newUser.id, 'Signed up with an invitation')
  grant(referrer.id, 'Somebody signed up with your link')
}

/**
 * A user's own code and what it has brought so far. Accounts from before there were codes get theirs here.
 * @throws AppError `not_found`.
 */
export async function getReferrals(deps: { db: Db; clock: Clock }, userId: string): Promise<ReferralsResponse> {
  const brought = deps.db
    .select({ referred: count(), credits: sum(referrals.credits) })
    .from(referrals)
    .where(eq(referrals.referrerId, userId))
    .get()
  return {
    code: findReferralCode(deps.db, userId) ?? (await createReferralCode(deps, userId)),
    referred: brought?.referred ?? 0,
    credits: Number(brought?.credits ?? 0),
  }
}

function createReferralCode({ db, clock }: { db: Db; clock: Clock }, userId: string): Promise<string> {
  return write(db, (tx) => {
    const existing = findReferralCode(tx, userId)
    if (existing) return existing
    const referralCode = newReferralCode(tx)
    tx.update(users).set({ referralCode, updatedAt: clock.now() }).where(eq(users.id, userId)).run()
    return referralCode
  })
}

function findReferralCode(db: Db, userId: string): string | null {
  const user = db.select({ code: users.referralCode }).from(users).where(eq(users.id, userId)).get()
  if (!user) throw new AppError('not_found', 'User not found')
  return user.code
}

import { randomBytes } from 'node:crypto'
import { and, count, eq, gte, isNull, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import type { ReferralsResponse } from '../users/schemas.ts'
import { referrals, type UserRow, users } from '../users/tables.ts'

/** Credits for each of the new user and the referrer. */
const REFERRAL_CREDITS = 10
const MAX_CREDITED_A_MONTH = 10

/** Returns an unused code of 8 upper-case hex digits; the caller stores it in the same transaction. */
export function newReferralCode(tx: Tx): string {
  for (;;) {
    const code = randomBytes(4).toString('hex').toUpperCase()
    if (!tx.select({ id: users.id }).from(users).where(eq(users.referralCode, code)).get()) return code
  }
}

/** Grants credits once per `cause`, in the caller's transaction. */
export type GrantCredits = (tx: Tx, grant: { userId: string; credits: number; cause: string; memo: string }) => void

/**
 * Records the referrer of a new user in the transaction that creates the account. Ignores unknown codes and the user's
 * own.
 */
export function noteReferral(tx: Tx, { clock }: { clock: Clock }, newUser: Pick<UserRow, 'id'>, code: string): void {
  const isTheirs = and(eq(users.referralCode, code), isNull(users.disabledAt))
  const referrer = tx.select({ id: users.id }).from(users).where(isTheirs).get()
  if (!referrer || referrer.id === newUser.id) return
  const row = { newUserId: newUser.id, referrerId: referrer.id, credits: REFERRAL_CREDITS, createdAt: clock.now() }
  tx.insert(referrals).values(row).onConflictDoNothing().run()
}

/**
 * Credits a referred user and their referrer once, up to the referrer's monthly limit. Called when the user verifies
 * their address or pays, because sign-ups with invented addresses would earn unlimited credits.
 */
export function creditReferral(tx: Tx, deps: { clock: Clock; grantCredits: GrantCredits }, newUserId: string): void {
  const isPending = and(eq(referrals.newUserId, newUserId), isNull(referrals.creditedAt))
  const referral = tx.select().from(referrals).where(isPending).get()
  if (!referral) return
  const { referrerId, credits } = referral
  const isActive = and(eq(users.id, referrerId), isNull(users.disabledAt))
  if (!tx.select({ id: users.id }).from(users).where(isActive).get()) return
  const now = deps.clock.now()
  const isThisMonth = and(eq(referrals.referrerId, referrerId), gte(referrals.creditedAt, monthOf(now)))
  if (countRows(tx, referrals, isThisMonth) >= MAX_CREDITED_A_MONTH) return
  tx.update(referrals).set({ creditedAt: now }).where(isPending).run()
  const grant = (userId: string, memo: string) =>
    deps.grantCredits(tx, { userId, credits, cause: `referral:${newUserId}:${userId}`, memo })
  grant(newUserId, 'Signed up with a referral code')
  grant(referrerId, 'Someone signed up with your referral code')
}

function monthOf(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1))
}

/**
 * Returns a user's code, the number of sign-ups with it and the credits earned. Creates a missing code.
 * @throws AppError `not_found`.
 */
export async function getReferrals(deps: Base, userId: string): Promise<ReferralsResponse> {
  const brought = deps.db
    .select({
      referred: count(),
      credits: sql<number>`coalesce(sum(${referrals.credits}) filter (where ${referrals.creditedAt} is not null), 0)`,
    })
    .from(referrals)
    .where(eq(referrals.referrerId, userId))
    .get()
  return {
    code: findReferralCode(deps.db, userId) ?? (await createReferralCode(deps, userId)),
    referred: brought?.referred ?? 0,
    credits: brought?.credits ?? 0,
  }
}

function createReferralCode({ db, clock }: Base, userId: string): Promise<string> {
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

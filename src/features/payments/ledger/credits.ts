import type { Clock } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { GrantCredits } from '../../accounts/referrals/referrals.ts'
import { creditsOf, MICRO_USD_PER_CREDIT, platformAccount } from './accounts.ts'
import { post, readBalance } from './post.ts'

/** Returns a user's whole credits, rounded down. */
export function readCredits(db: Db, userId: string): number {
  return Math.floor(readBalance(db, creditsOf(userId)) / MICRO_USD_PER_CREDIT)
}

/** Grants credits, once per cause. */
export function createGrantCredits(deps: { clock: Clock }): GrantCredits {
  return (tx, { userId, credits, ...entry }) => {
    const amount = credits * MICRO_USD_PER_CREDIT
    const lines = [
      { account: creditsOf(userId), amount },
      { account: platformAccount('grants', 'USD'), amount: -amount },
    ]
    post(tx, deps, { ...entry, lines })
  }
}

/** Sets a user's balance to exactly `credits`; posts nothing when it is. `cause` is used once. */
export function setCredits(
  tx: Tx,
  deps: { clock: Clock },
  change: { userId: string; credits: number; cause: string; memo: string },
): void {
  const amount = change.credits * MICRO_USD_PER_CREDIT - readBalance(tx, creditsOf(change.userId))
  if (amount === 0) return
  const lines = [
    { account: creditsOf(change.userId), amount },
    { account: platformAccount('grants', 'USD'), amount: -amount },
  ]
  post(tx, deps, { cause: change.cause, memo: change.memo, lines })
}

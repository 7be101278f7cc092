import { and, eq, gt, lte, sql } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import { throttles } from './tables.ts'

/** At most `limit` failures within `windowMs`, counted from the first. */
export type ThrottleRule = { limit: number; windowMs: number }

/** A rule for one key, such as an account or an address. */
export type Throttle = ThrottleRule & { key: string }

/**
 * Takes one attempt from each of `throttles` before it is made, so that guesses made at once count as well.
 * @throws AppError `limited` when one of them has none left; then nothing is taken.
 */
export async function takeAttempt(deps: { db: Db; clock: Clock }, ...throttles: Throttle[]): Promise<void> {
  await write(deps.db, (tx) => {
    for (const { key, ...rule } of throttles) requireAttempt(tx, deps.clock, key, rule)
    for (const { key, ...rule } of throttles) countFailure(tx, deps.clock, key, rule)
  })
}

/** Gives back what `takeAttempt` took, for an attempt that was no failure. */
export function returnAttempt(tx: Tx, ...taken: Throttle[]): void {
  for (const { key } of taken) {
    tx.update(throttles)
      .set({ count: sql`${throttles.count} - 1` })
      .where(and(eq(throttles.key, key), gt(throttles.count, 0)))
      .run()
  }
}

/**
 * Refuses when too many attempts under `key` have failed. The counters are rows: a restart forgives nothing.
 * @throws AppError `limited` with the seconds to wait in `retryAfter`.
 */
export function requireAttempt(db: Db, clock: Clock, key: string, rule: ThrottleRule): void {
  const row = db.select().from(throttles).where(eq(throttles.key, key)).get()
  const now = clock.now()
  if (!row || row.resetAt <= now || row.count < rule.limit) return
  const seconds = Math.ceil((row.resetAt.getTime() - now.getTime()) / 1000)
  throw new AppError('limited', 'Too many attempts. Try again later.', { retryAfter: String(seconds) })
}

/** Counts a failed attempt; the window begins with the first. */
export function countFailure(tx: Tx, clock: Clock, key: string, rule: ThrottleRule): void {
  const now = clock.now()
  const row = tx.select().from(throttles).where(eq(throttles.key, key)).get()
  const isOpen = row !== undefined && row.resetAt > now
  const next = isOpen
    ? { count: row.count + 1, resetAt: row.resetAt }
    : { count: 1, resetAt: new Date(now.getTime() + rule.windowMs) }
  tx.insert(throttles)
    .values({ key, ...next })
    .onConflictDoUpdate({ target: throttles.key, set: next })
    .run()
}

/** After a success the failures before it no longer count. */
export function forgetFailures(tx: Tx, key: string): void {
  tx.delete(throttles).where(eq(throttles.key, key)).run()
}

/** Removes counters whose window is over. */
export async function deleteOldThrottles(db: Db, clock: Clock): Promise<void> {
  await write(db, (tx) => tx.delete(throttles).where(lte(throttles.resetAt, clock.now())).run())
}

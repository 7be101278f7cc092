import { and, eq, gt, lt, lte, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { throttles } from '../users/tables.ts'

/** At most `limit` failures under `key` within `windowMs`, counted from the first. */
export type Throttle = { key: string; limit: number; windowMs: number }

/**
 * Takes one attempt from each of `throttles` before it is made, so that guesses made at once count as well.
 * @throws AppError `limited` when one of them has none left; then nothing is taken.
 */
export async function takeAttempt(deps: { db: Db; clock: Clock }, ...throttles: Throttle[]): Promise<void> {
  await write(deps.db, (tx) => {
    requireAttempts(tx, deps.clock, throttles)
    for (const throttle of throttles) countFailure(tx, deps.clock, throttle)
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
 * Refuses when too many attempts of one of `throttles` have failed. The counters are rows: a restart forgives nothing.
 * @throws AppError `limited` with the seconds to wait in `retryAfter`.
 */
export function requireAttempts(db: Db, clock: Clock, throttles: readonly Throttle[]): void {
  const full = throttles.map((throttle) => findFull(db, clock, throttle)).find((row) => row !== null)
  if (!full) return
  const seconds = Math.ceil((full.resetAt.getTime() - clock.now().getTime()) / 1000)
  throw new AppError('limited', 'Too many attempts. Try again later.', { retryAfter: String(seconds) })
}

/** Is there an attempt left? */
export function hasAttempt(db: Db, clock: Clock, throttle: Throttle): boolean {
  return findFull(db, clock, throttle) === null
}

/** The counter, when it allows no more. */
function findFull(db: Db, clock: Clock, { key, limit }: Throttle): typeof throttles.$inferSelect | null {
  const row = db.select().from(throttles).where(eq(throttles.key, key)).get()
  return row && row.resetAt > clock.now() && row.count >= limit ? row : null
}

/** Counts a failed attempt; the window begins with the first. */
export function countFailure(tx: Tx, clock: Clock, { key, windowMs }: Omit<Throttle, 'limit'>): void {
  const now = clock.now()
  const row = tx.select().from(throttles).where(eq(throttles.key, key)).get()
  const isOpen = row !== undefined && row.resetAt > now
  const next = isOpen
    ? { count: row.count + 1, resetAt: row.resetAt }
    : { count: 1, resetAt: new Date(now.getTime() + windowMs) }
  tx.insert(throttles)
    .values({ key, ...next })
    .onConflictDoUpdate({ target: throttles.key, set: next })
    .run()
}

/** After a success the failures before it no longer count. */
export function forgetFailures(tx: Tx, key: string): void {
  tx.delete(throttles).where(eq(throttles.key, key)).run()
}

/** Forgets what was counted under `key` and under every key that continues it after a colon. */
export function forgetFailuresBelow(tx: Tx, key: string): void {
  forgetFailures(tx, key)
  tx.delete(throttles)
    // A semicolon comes right after the colon, so this is a range of the primary key.
    .where(and(gt(throttles.key, `${key}:`), lt(throttles.key, `${key};`)))
    .run()
}

/** Removes counters whose window is over. */
export async function deleteOldThrottles(db: Db, clock: Clock, signal?: AbortSignal): Promise<void> {
  await deleteInBatches(db, throttles, lte(throttles.resetAt, clock.now()), signal)
}

const HOUR_MS = 3_600_000

/** Forgets failed attempts and used proofs of work whose time is over. */
export function throttlesJob({ db, clock }: { db: Db; clock: Clock }): RepeatingJob {
  return { name: 'accounts.throttles', everyMs: HOUR_MS, run: (signal) => deleteOldThrottles(db, clock, signal) }
}

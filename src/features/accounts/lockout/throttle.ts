import { and, eq, gt, lt, lte, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { throttles } from '../users/tables.ts'

/** At most `limit` failures under `key` within `windowMs`; the window starts with the first failure. */
export type Throttle = { key: string; limit: number; windowMs: number }

/**
 * Counts one attempt in each throttle before it is made, so concurrent attempts are limited too.
 * @throws AppError `limited` when one has no attempt left; nothing is counted then.
 */
export async function takeAttempt(deps: { db: Db; clock: Clock }, ...throttles: Throttle[]): Promise<void> {
  await write(deps.db, (tx) => {
    requireAttempts(tx, deps.clock, throttles)
    for (const throttle of throttles) countFailure(tx, deps.clock, throttle)
  })
}

/** Reverses the count of `takeAttempt`. */
export function returnAttempt(tx: Tx, ...taken: Throttle[]): void {
  for (const { key } of taken) {
    tx.update(throttles)
      .set({ count: sql`${throttles.count} - 1` })
      .where(and(eq(throttles.key, key), gt(throttles.count, 0)))
      .run()
  }
}

/**
 * Rejects when one of the throttles is used up. Counters are stored in the database and survive restarts.
 * @throws AppError `limited` with the seconds to wait in `retryAfter`.
 */
export function requireAttempts(db: Db, clock: Clock, throttles: readonly Throttle[]): void {
  const full = throttles.map((throttle) => findFull(db, clock, throttle)).find((row) => row !== null)
  if (!full) return
  const seconds = Math.ceil((full.resetAt.getTime() - clock.now().getTime()) / 1000)
  throw new AppError('limited', 'Too many attempts. Try again later.', { retryAfter: String(seconds) })
}

export function hasAttempt(db: Db, clock: Clock, throttle: Throttle): boolean {
  return findFull(db, clock, throttle) === null
}

/** Returns the counter if it allows no further attempt. */
function findFull(db: Db, clock: Clock, { key, limit }: Throttle): typeof throttles.$inferSelect | null {
  const row = db.select().from(throttles).where(eq(throttles.key, key)).get()
  return row && row.resetAt > clock.now() && row.count >= limit ? row : null
}

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

/** Resets the counter after a success. */
export function forgetFailures(tx: Tx, key: string): void {
  tx.delete(throttles).where(eq(throttles.key, key)).run()
}

/** Resets the counter `key` and all counters that start with `key:`. */
export function forgetFailuresBelow(tx: Tx, key: string): void {
  forgetFailures(tx, key)
  tx.delete(throttles)
    // `;` follows `:` in ASCII, so this is a range of the primary key.
    .where(and(gt(throttles.key, `${key}:`), lt(throttles.key, `${key};`)))
    .run()
}

export async function deleteOldThrottles(db: Db, clock: Clock, signal?: AbortSignal): Promise<void> {
  await deleteInBatches(db, throttles, lte(throttles.resetAt, clock.now()), signal)
}

const HOUR_MS = 3_600_000

/** Deletes expired counters and used proofs of work. */
export function throttlesJob({ db, clock }: Base): RepeatingJob {
  return { name: 'accounts.throttles', everyMs: HOUR_MS, run: (signal) => deleteOldThrottles(db, clock, signal) }
}

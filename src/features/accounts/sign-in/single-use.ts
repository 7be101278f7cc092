import { and, eq, gt, lte } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { signInAttempts, walletNonces } from './tables.ts'

/** Remembers `value` until `expiresAt` or until it is used, whichever comes first. */
export function rememberOnce(tx: Tx, value: string, expiresAt: Date): void {
  tx.insert(walletNonces).values({ nonce: value, expiresAt }).run()
}

/** Takes `value` away: of any number of callers exactly one is told true, and after it expired none. */
export function takeOnce(tx: Tx, value: string, now: Date): boolean {
  const { changes } = tx
    .delete(walletNonces)
    .where(and(eq(walletNonces.nonce, value), gt(walletNonces.expiresAt, now)))
    .run()
  return changes === 1
}

/** Is `value` still to be used? */
export function isUnused(db: Db, value: string, now: Date): boolean {
  const row = db
    .select({ nonce: walletNonces.nonce })
    .from(walletNonces)
    .where(and(eq(walletNonces.nonce, value), gt(walletNonces.expiresAt, now)))
    .get()
  return row !== undefined
}

/** Forgets nonces, waiting sign-ins and attempts whose time is over. */
export async function deleteExpiredSignIns(
  { db, clock }: { db: Db; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const now = clock.now()
  await deleteInBatches(db, walletNonces, lte(walletNonces.expiresAt, now), signal)
  await deleteInBatches(db, signInAttempts, lte(signInAttempts.expiresAt, now), signal)
}

import { and, eq, inArray } from 'drizzle-orm'
import type { Tx } from '../../../db/open.ts'
import { receipts } from './tables.ts'

/** Takes a deleted user off at most `limit` receipts, which the books need. @returns how many it were. */
export function forgetReceiptOwner(tx: Tx, userId: string, limit: number): number {
  const some = tx.select({ id: receipts.id }).from(receipts).where(eq(receipts.userId, userId)).limit(limit)
  return tx
    .update(receipts)
    .set({ userId: 'deleted', payer: null })
    .where(and(eq(receipts.userId, userId), inArray(receipts.id, some)))
    .run().changes
}

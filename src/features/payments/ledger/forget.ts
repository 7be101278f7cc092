import { eq, sql } from 'drizzle-orm'
import type { Tx } from '../../../db/open.ts'
import { ledgerAccounts } from './tables.ts'

/** Takes a deleted user's name off the books, which stay as they are: each account becomes one of nobody. */
export function forgetLedgerOwner(tx: Tx, userId: string): void {
  tx.update(ledgerAccounts)
    .set({ ownerId: sql`'deleted:' || ${ledgerAccounts.id}` })
    .where(eq(ledgerAccounts.ownerId, userId))
    .run()
}

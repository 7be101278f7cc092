import { and, eq, inArray } from 'drizzle-orm'
import type { Tx } from '../../../db/open.ts'
import { gatewayPayments } from './tables.ts'

/** Takes a deleted user off at most `limit` payments, which the books need. @returns how many it were. */
export function forgetGatewayPayer(tx: Tx, userId: string, limit: number): number {
  const isTheirs = eq(gatewayPayments.userId, userId)
  const some = tx.select({ id: gatewayPayments.id }).from(gatewayPayments).where(isTheirs).limit(limit)
  return tx
    .update(gatewayPayments)
    .set({ userId: 'deleted' })
    .where(and(isTheirs, inArray(gatewayPayments.id, some)))
    .run().changes
}

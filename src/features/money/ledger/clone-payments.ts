import { and, count, gt, lt } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { BookClonePayment } from '../../agents/cloning/payment.ts'
import { houseAccount } from './accounts.ts'
import { transfer } from './post.ts'
import { ledgerEntries } from './tables.ts'

/**
 * Books what was paid on the chain for clones as sales, once for each payment, and takes it back when the chain does; one that
 * comes back is booked again.
 */
export function createClonePaymentBooks(deps: { clock: Clock }): BookClonePayment {
  return (tx, { reference, amountMicroUsd: amount, isUndone }) => {
    const [chain, sales] = [houseAccount('chain', 'pathUSD'), houseAccount('sales', 'pathUSD')]
    // The semicolon follows the colon: between them is every turn of this payment, found by the index.
    const isOfIt = and(gt(ledgerEntries.cause, `${reference}:`), lt(ledgerEntries.cause, `${reference};`))
    const turn = tx.select({ entries: count() }).from(ledgerEntries).where(isOfIt).get()?.entries ?? 0
    const memo = isUndone ? 'Payment for a clone, taken back by the chain' : 'Payment for a clone'
    const [from, to] = isUndone ? [sales, chain] : [chain, sales]
    transfer(tx, deps, { cause: `${reference}:${turn + 1}`, memo, from, to, amount })
  }
}

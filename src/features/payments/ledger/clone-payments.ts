import type { Clock } from '../../../core/clock.ts'
import type { BookClonePayment } from '../../agents/cloning/clone.ts'
import { houseAccount } from './accounts.ts'
import { postTurn } from './take-turns.ts'

/**
 * Books what was paid on the chain for clones as sales, once for each payment, and takes it back when the chain does; one that
 * comes back is booked again.
 */
export function createClonePaymentBooks(deps: { clock: Clock }): BookClonePayment {
  return (tx, { reference, amountMicroUsd: amount, isUndone }) => {
    const ends = { from: houseAccount('chain', 'pathUSD'), to: houseAccount('sales', 'pathUSD') }
    postTurn(tx, deps, { reference, memo: 'Payment for a clone', ...ends, amount, isUndone })
  }
}

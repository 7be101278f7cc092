import type { Clock } from '../../../core/clock.ts'
import type { Tx } from '../../../db/open.ts'
import { CURRENCIES, type Currency, houseAccount, walletsOf } from '../ledger/accounts.ts'
import { postTurn } from '../ledger/take-turns.ts'
import type { PaymentRow } from './tables.ts'

type Before = Pick<PaymentRow, 'status'>

/**
 * Posts what a payment moved out of a wallet when it comes to have succeeded, and the way back when it has no longer: in the
 * closure that changes its row, so that the books always say what the payments say. What another gateway pays by its own
 * means moves nothing of ours, and is not posted.
 */
export function bookChange(tx: Tx, deps: { clock: Clock }, before: Before, after: PaymentRow): void {
  if (after.kind === 'upstream' || hasSucceeded(before) === hasSucceeded(after)) return
  const { id, userId, recipient, purpose, amountMicroUsd: amount } = after
  const currency = toCurrency(after)
  postTurn(tx, deps, {
    reference: `wallet:${id}`,
    memo: `Paid from a wallet to ${recipient} (${purpose})`,
    from: walletsOf(userId, currency),
    to: houseAccount('payees', currency),
    amount,
    isUndone: !hasSucceeded(after),
  })
}

function hasSucceeded({ status }: Before): boolean {
  return status === 'succeeded'
}

function toCurrency({ id, currency }: PaymentRow): Currency {
  const known = CURRENCIES.find((one) => one === currency)
  if (!known) throw new Error(`The payment ${id} is in ${currency}, in which no books are kept`)
  return known
}

import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once } from '../../../http/env.ts'
import { getWallet, type WalletOwner } from './create.ts'
import { type OrderDeps, orderPayment, type PaymentOrder } from './order.ts'
import type { SendRequest } from './schemas.ts'
import type { PaymentRow } from './tables.ts'
import { advanceUntilSettled, type TransferDeps } from './transfer.ts'

export type SendDeps = TransferDeps & OrderDeps

/** How long a transfer is waited for; the job goes on after that. */
const WAIT_MS = 20_000

/**
 * Sends from a wallet of the caller's, within its policy. With `once.made` it goes on with the payment of an earlier attempt.
 * @returns the payment, however far it has come: `failed` and `unknown` are outcomes here.
 * @throws AppError `not_found`, `forbidden` as `requireWithinPolicy`, `unavailable` when nothing has left.
 */
export async function sendFromWallet(
  deps: SendDeps,
  owner: WalletOwner,
  { recipient, amount, currency }: SendRequest,
  once: Once,
): Promise<PaymentRow> {
  const chain = deps.tokenChains[currency]
  chain.requireConfigured()
  const { chainId } = chain.terms
  const order = { recipient: recipient.toLowerCase(), amountMicroUsd: amount, currency, chainId }
  const id = once.made ?? (await write(deps.db, (tx) => orderSending(tx, deps, owner, order, once)))
  return advanceUntilSettled(deps, id, WAIT_MS)
}

type Sending = Pick<PaymentOrder, 'recipient' | 'amountMicroUsd' | 'currency' | 'chainId'>

function orderSending(tx: Tx, deps: SendDeps, owner: WalletOwner, order: Sending, once: Once): string {
  const wallet = getWallet(tx, owner)
  const names = { kind: 'transfer', purpose: 'send', reference: newId('send') } as const
  const { id } = orderPayment(tx, deps, { ...order, ...owner, ...names, wallet })
  once.note(tx, id)
  return id
}

/** What is told of a payment that has not succeeded. @throws AppError unless it has, or waits for its owner. */
export function requireSucceeded(payment: PaymentRow): PaymentRow {
  const { status, id: paymentId, reason } = payment
  const extra = { paymentId, status, transactionHash: payment.transactionHash }
  switch (status) {
    case 'succeeded':
    case 'awaiting_approval':
      return payment
    case 'failed':
    case 'denied':
      throw new AppError('payment_required', `Payment failed: ${reason ?? status}`, {
        code: 'PAYMENT_FAILED',
        ...extra,
      })
    default:
      throw new AppError('upstream_timeout', 'The outcome of this payment is not known yet; it is not made again', {
        code: 'PAYMENT_UNKNOWN',
        ...extra,
      })
  }
}

import { and, eq, gt } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { newId, newOrderedId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once } from '../../../http/env.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { enqueueMail } from '../../accounts/notifications/send-mail.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import { getWallet, type WalletOwner } from './create.ts'
import { copyCannotPay, requireWithinPolicy } from './policy.ts'
import type { TransferRequest } from './schemas.ts'
import { type PaymentRow, type WalletRow, walletPayments } from './tables.ts'
import { advanceUntilSettled, type TransferDeps } from './transfer.ts'

/**
 * An order for a payment. `reference` is unique, such as `split:12:3`: ordering it again returns the same payment.
 * `wallet` is null when an external gateway pays. `keepsTrying` is for payments that no request waits for.
 */
type PaymentOrder = Pick<PaymentRow, 'userId' | 'agentId' | 'kind' | 'purpose' | 'reference' | 'recipient'> & {
  wallet: WalletRow | null
  currency: string
  chainId: number | null
  amountMicroUsd: number
  keepsTrying?: boolean
  requestHash?: string
  detail?: Record<string, unknown>
}

/**
 * Orders a payment in the transaction of its cause; nothing is sent before the commit. It counts against the wallet's
 * limits at once, and the owner is mailed when approval is needed.
 * @returns the payment, `created` or `awaiting_approval`, or the existing one with this reference.
 * @throws AppError `unavailable` in a standby copy, `forbidden` as `requireWithinPolicy`; `conflict` when the reference
 * has another payment.
 */
export function orderPayment(
  tx: Tx,
  deps: Base & { approvalExpiryMinutes: number; isStandby: boolean },
  order: PaymentOrder,
): PaymentRow {
  const { clock, approvalExpiryMinutes, isStandby } = deps
  if (isStandby) throw copyCannotPay()
  const existing = findByReference(tx, order.reference)
  if (existing) return requireSame(existing, order)
  const now = clock.now()
  const { wallet } = order
  const { needsApproval } = wallet ? requireWithinPolicy(tx, wallet, order, now) : { needsApproval: false }
  if (needsApproval) mailOwner(tx, deps, order.userId)
  const approvalExpiresAt = needsApproval ? new Date(now.getTime() + approvalExpiryMinutes * 60_000) : null
  const row = insertPayment(tx, order, approvalExpiresAt, now)
  recordOrder(tx, row, now)
  return row
}

/** With `approvalExpiresAt`, it waits for approval until then. */
function insertPayment(
  tx: Tx,
  { wallet, ...columns }: PaymentOrder,
  approvalExpiresAt: Date | null,
  now: Date,
): PaymentRow {
  return tx
    .insert(walletPayments)
    .values({
      ...columns,
      id: newOrderedId('pay'),
      walletId: wallet?.id ?? null,
      fromAddress: wallet?.address ?? null,
      status: approvalExpiresAt ? 'awaiting_approval' : 'created',
      approvalExpiresAt,
      // The caller sends it at once; after a crash the job does.
      checkAt: approvalExpiresAt ?? new Date(now.getTime() + TAKE_OVER_MS),
      createdAt: now,
    })
    .returning()
    .get()
}

function recordOrder(tx: Tx, row: PaymentRow, now: Date): void {
  const { purpose, recipient, currency, amountMicroUsd } = row
  const detail = { paymentId: row.id, purpose, recipient, currency, amountMicroUsd, status: row.status }
  recordAudit(
    tx,
    { actor: row.userId ?? 'system', action: 'wallet.payment', target: row.walletId ?? row.id, detail },
    now,
  )
}

/** Payments that start to wait within this time share one mail. */
const MAIL_PAUSE_MS = 10 * 60_000

function mailOwner(tx: Tx, { clock, enqueue }: Base, userId: string | null): void {
  const owner = tx
    .select({ id: users.id, email: users.email })
    .from(users)
    .where(eq(users.id, userId ?? ''))
    .get()
  if (!owner) return
  const since = new Date(clock.now().getTime() - MAIL_PAUSE_MS)
  const wasMailed = and(
    eq(walletPayments.userId, owner.id),
    eq(walletPayments.status, 'awaiting_approval'),
    gt(walletPayments.createdAt, since),
  )
  if (tx.select({ id: walletPayments.id }).from(walletPayments).where(wasMailed).limit(1).get()) return
  enqueueMail(tx, enqueue, { mail: 'payment-approval-wanted', userId: owner.id, address: owner.email })
}

/** Time after which the job takes over an order from its caller. */
const TAKE_OVER_MS = 10_000

function findByReference(db: Db, reference: string): PaymentRow | null {
  return db.select().from(walletPayments).where(eq(walletPayments.reference, reference)).get() ?? null
}

function requireSame(existing: PaymentRow, order: PaymentOrder): PaymentRow {
  const isSame =
    existing.recipient === order.recipient &&
    existing.amountMicroUsd === order.amountMicroUsd &&
    existing.currency === order.currency &&
    existing.walletId === (order.wallet?.id ?? null)
  if (isSame) return existing
  throw new AppError('conflict', 'This reference names another payment', { code: 'PAYMENT_MISMATCH' })
}

export type TransferOrderDeps = TransferDeps & Base & { approvalExpiryMinutes: number }

/** A request waits this long for a transfer; then the job continues. */
const WAIT_MS = 20_000

/**
 * Sends from one of the caller's wallets within its policy. With `once.made` it resumes the payment of an earlier
 * attempt.
 * @returns the payment; `failed` and `unknown` are outcomes, not exceptions.
 * @throws AppError `not_found`, `forbidden` as `requireWithinPolicy`, `unavailable` when nothing was sent.
 */
export async function sendFromWallet(
  deps: TransferOrderDeps,
  owner: WalletOwner,
  { recipient, amount, currency }: TransferRequest,
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

function orderSending(tx: Tx, deps: TransferOrderDeps, owner: WalletOwner, order: Sending, once: Once): string {
  const wallet = getWallet(tx, owner)
  const names = { kind: 'transfer', purpose: 'send', reference: newId('send') } as const
  const { id } = orderPayment(tx, deps, { ...order, ...owner, ...names, wallet })
  once.note(tx, id)
  return id
}

/** @throws AppError unless the payment succeeded or waits for approval. */
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

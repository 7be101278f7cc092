import { and, eq, gte, ne, notInArray, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { formatMicroUsd, toUsd } from '../../../core/money.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { getWallet, type WalletOwner } from './create.ts'
import { changePayment } from './payments.ts'
import type { PolicyChange } from './schemas.ts'
import { managedWallets, type PaymentRow, type WalletRow, walletPayments } from './tables.ts'

/** What is about to be spent; `id` is its row when it has one, which does not count against itself. */
type Spending = { recipient: string; amountMicroUsd: number; id?: string }

/** What ended without spending anything. */
const NOT_SPENT: PaymentRow['status'][] = ['failed', 'denied']

/**
 * Holds a payment to the policy of its wallet, in the closure that writes the payment: two at once cannot both have the
 * last dollar. Every spender comes through here. @returns whether the owner has to be asked first.
 * @throws AppError `forbidden` WALLET_FROZEN, RECIPIENT_NOT_ALLOWED or LIMIT_EXCEEDED with `limit` and `spent`.
 */
export function requireWithinPolicy(
  tx: Tx,
  wallet: WalletRow,
  spending: Spending,
  now: Date,
): { needsApproval: boolean } {
  requireNotFrozen(wallet)
  const { amountMicroUsd, recipient } = spending
  if (wallet.recipients && !wallet.recipients.includes(toRecipientKey(recipient))) {
    throw new AppError('forbidden', 'The policy of this wallet does not allow this recipient', {
      code: 'RECIPIENT_NOT_ALLOWED',
    })
  }
  requireBelow('payment', wallet.perPaymentMicroUsd, 0, amountMicroUsd)
  const spent = (from: Date) => sumSpent(tx, wallet.id, from, spending.id)
  if (wallet.perDayMicroUsd !== null) requireBelow('day', wallet.perDayMicroUsd, spent(dayOf(now)), amountMicroUsd)
  if (wallet.perMonthMicroUsd !== null)
    requireBelow('month', wallet.perMonthMicroUsd, spent(monthOf(now)), amountMicroUsd)
  return { needsApproval: wallet.approvalAboveMicroUsd !== null && amountMicroUsd > wallet.approvalAboveMicroUsd }
}

/**
 * Checks an ordered payment against the wallet's current policy. Every spender calls it in the closure that marks the payment
 * as `sent`: the wallet may have been frozen, or its limits and recipients changed, since the order or the approval.
 * @throws AppError `unavailable` in a copy of an installation; `forbidden` as `requireWithinPolicy`, or APPROVAL_REQUIRED
 * when the payment now needs an approval that its owner never gave.
 */
export function requireSendable(
  tx: Tx,
  { clock, standsBack }: { clock: Clock; standsBack: boolean },
  payment: PaymentRow,
): void {
  if (standsBack) throw copyCannotPay()
  if (payment.walletId === null) return
  const wallet = tx.select().from(managedWallets).where(eq(managedWallets.id, payment.walletId)).get()
  if (!wallet) throw new Error(`Payment ${payment.id} has no wallet`)
  const { needsApproval } = requireWithinPolicy(tx, wallet, payment, clock.now())
  if (needsApproval && payment.decidedBy === null) {
    throw new AppError('forbidden', 'The policy of this wallet now requires an approval for this amount', {
      code: 'APPROVAL_REQUIRED',
    })
  }
}

/** A copy has the keys and the limits of the original, and two that pay spend twice. */
export function copyCannotPay(): AppError {
  return new AppError('unavailable', 'This is a copy of another installation: it pays nothing', { code: 'COPY' })
}

const FROZEN = 'This wallet is frozen'

function requireNotFrozen({ frozenAt }: WalletRow): void {
  if (frozenAt) throw new AppError('forbidden', FROZEN, { code: 'WALLET_FROZEN' })
}

/** Micro-dollars that the wallet has spent, or may have, today and in this month (UTC). */
export function readSpent(db: Db, walletId: string, now: Date): { day: number; month: number } {
  return { day: sumSpent(db, walletId, dayOf(now)), month: sumSpent(db, walletId, monthOf(now)) }
}

/** Addresses of a chain count in any case; others only as they are written. */
function toRecipientKey(recipient: string): string {
  return recipient.startsWith('0x') ? recipient.toLowerCase() : recipient
}

function sumSpent(db: Db, walletId: string, from: Date, except = ''): number {
  const isSpent = and(
    eq(walletPayments.walletId, walletId),
    gte(walletPayments.createdAt, from),
    notInArray(walletPayments.status, NOT_SPENT),
    ne(walletPayments.id, except),
  )
  const total = sql<number>`coalesce(sum(${walletPayments.amountMicroUsd}), 0)`
  return db.select({ total }).from(walletPayments).where(isSpent).get()?.total ?? 0
}

function requireBelow(span: 'payment' | 'day' | 'month', limit: number | null, spent: number, amount: number): void {
  if (limit === null || spent + amount <= limit) return
  throw new AppError('forbidden', `The policy of this wallet allows ${formatMicroUsd(limit, 2)} dollars a ${span}`, {
    code: 'LIMIT_EXCEEDED',
    limit: toUsd(limit),
    spent: toUsd(spent),
  })
}

function dayOf(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()))
}

function monthOf(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1))
}

/** Changes the given fields only. Freezing fails payments that are not signed yet. @throws AppError `not_found`. */
export function changePolicy(
  deps: { db: Db; clock: Clock },
  owner: WalletOwner,
  change: PolicyChange,
): Promise<WalletRow> {
  const now = deps.clock.now()
  return write(deps.db, (tx) => {
    const wallet = getWallet(tx, owner)
    const { perPayment, perDay, perMonth, approvalAbove, recipients, frozen } = change
    const frozenAt = frozen ? (wallet.frozenAt ?? now) : null
    const columns = {
      ...(perPayment !== undefined && { perPaymentMicroUsd: perPayment }),
      ...(perDay !== undefined && { perDayMicroUsd: perDay }),
      ...(perMonth !== undefined && { perMonthMicroUsd: perMonth }),
      ...(approvalAbove !== undefined && { approvalAboveMicroUsd: approvalAbove }),
      ...(recipients !== undefined && { recipients: recipients && [...new Set(recipients.map(toRecipientKey))] }),
      ...(frozen !== undefined && { frozenAt }),
    }
    if (Object.keys(columns).length === 0) return wallet
    recordAudit(tx, { actor: owner.userId, action: 'wallet.policy', target: wallet.id, detail: columns }, now)
    if (frozenAt) endUnsent(tx, deps, wallet.id)
    return tx.update(managedWallets).set(columns).where(eq(managedWallets.id, wallet.id)).returning().get()
  })
}

/** Freezes every wallet of an account, until its owner unfreezes them, and ends payments that are not signed yet. */
export function freezeWallets(tx: Tx, deps: { clock: Clock }, userId: string): void {
  const frozen = tx
    .update(managedWallets)
    .set({ frozenAt: deps.clock.now() })
    .where(eq(managedWallets.userId, userId))
    .returning({ id: managedWallets.id })
    .all()
  for (const { id } of frozen) endUnsent(tx, deps, id)
}

/** Without this, an approval given before the freeze would pay again after the wallet is unfrozen. */
function endUnsent(tx: Tx, deps: { clock: Clock }, walletId: string): void {
  const now = deps.clock.now()
  const isUnsent = and(eq(walletPayments.walletId, walletId), eq(walletPayments.status, 'created'))
  const unsent = tx.select({ id: walletPayments.id }).from(walletPayments).where(isUnsent).all()
  const ended = { status: 'failed', reason: FROZEN, settledAt: now, finalAt: now, checkAt: null } as const
  for (const { id } of unsent) changePayment(tx, deps, id, ['created'], ended)
}

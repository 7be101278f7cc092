import { and, eq, gte, ne, notInArray, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { formatMicroUsd, toUsd } from '../../../core/money.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import type { Base } from '../../base.ts'
import { getWallet, type WalletOwner } from './create.ts'
import { changePayment } from './payments.ts'
import type { PolicyChange } from './schemas.ts'
import { managedWallets, type PaymentRow, type WalletRow, walletPayments } from './tables.ts'

/** A planned expense; `id` is its own row, which is excluded from the sums. */
type Spending = { recipient: string; amountMicroUsd: number; id?: string }

/** Statuses without spending. */
const NOT_SPENT: PaymentRow['status'][] = ['failed', 'denied']

/**
 * Checks a payment against its wallet's policy in the transaction that writes it, so two concurrent payments cannot
 * exceed a limit together.
 * @returns whether the owner must approve it.
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
 * Checks an ordered payment against the wallet's current policy, in the transaction that marks it as `sent`: the wallet
 * may have been frozen, or its limits and recipients changed, since the order or the approval.
 * @throws AppError `unavailable` in a standby copy; `forbidden` as `requireWithinPolicy`, or APPROVAL_REQUIRED when the
 * payment now needs an approval.
 */
export function requireSendable(
  tx: Tx,
  { clock, isStandby }: { clock: Clock; isStandby: boolean },
  payment: PaymentRow,
): void {
  if (isStandby) throw copyCannotPay()
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

/** A copy has the keys and limits of the original; if both paid, limits would apply twice. */
export function copyCannotPay(): AppError {
  return new AppError('unavailable', 'This is a copy of another installation: it pays nothing', { code: 'COPY' })
}

const FROZEN = 'This wallet is frozen'

function requireNotFrozen({ frozenAt }: WalletRow): void {
  if (frozenAt) throw new AppError('forbidden', FROZEN, { code: 'WALLET_FROZEN' })
}

/** Returns the micro-dollars spent, or possibly spent, today and this month (UTC). */
export function readSpent(db: Db, walletId: string, now: Date): { day: number; month: number } {
  return { day: sumSpent(db, walletId, dayOf(now)), month: sumSpent(db, walletId, monthOf(now)) }
}

/** EVM addresses are case-insensitive; others are not. */
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
export function changePolicy(deps: Base, owner: WalletOwner, change: PolicyChange): Promise<WalletRow> {
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

/** Freezes all wallets of an account until its owner unfreezes them, and fails payments that are not signed yet. */
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

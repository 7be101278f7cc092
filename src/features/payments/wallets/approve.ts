import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { changePayment, getOwnPayment } from './payments.ts'
import { requireWithinPolicy } from './policy.ts'
import { managedWallets, type PaymentRow } from './tables.ts'

type ApproveDeps = { db: Db; clock: Clock }

/**
 * The owner allows a payment that waited for them. It is made from now on, whoever ordered it having gone or not.
 * @throws AppError `not_found`; `conflict` when it does not wait any more; `forbidden` as `requireWithinPolicy`.
 */
export function approvePayment(deps: ApproveDeps, userId: string, id: string): Promise<PaymentRow> {
  const now = deps.clock.now()
  return write(deps.db, (tx) => {
    const payment = getOwnPayment(tx, userId, id)
    requireWaiting(payment, now)
    const isOwn = and(eq(managedWallets.id, payment.walletId ?? ''), eq(managedWallets.userId, userId))
    const wallet = tx.select().from(managedWallets).where(isOwn).get()
    if (!wallet) throw new AppError('not_found', 'Wallet not found')
    requireWithinPolicy(tx, wallet, payment, now)
    const approved = { status: 'created', keepsTrying: true, checkAt: checkAtOf(payment, now) } as const
    return decide(tx, deps, payment, userId, approved)
  })
}

/** A call that is to be paid is made again by whoever wanted it; everything else is made at once. */
function checkAtOf({ kind }: PaymentRow, now: Date): Date {
  return kind === 'authorization' ? new Date(now.getTime() + APPROVED_FOR_MS) : now
}

const APPROVED_FOR_MS = 24 * 3_600_000

/** @throws AppError `not_found`; `conflict` when it does not wait any more. */
export function denyPayment(deps: ApproveDeps, userId: string, id: string): Promise<PaymentRow> {
  const now = deps.clock.now()
  return write(deps.db, (tx) => {
    const payment = getOwnPayment(tx, userId, id)
    requireWaiting(payment, now)
    return decide(tx, deps, payment, userId, denied('Its owner denied it', now))
  })
}

/** Denies what waited for too long. */
export function expireApproval(deps: ApproveDeps, payment: PaymentRow): Promise<PaymentRow | null> {
  const now = deps.clock.now()
  return write(deps.db, (tx) =>
    changePayment(tx, deps, payment.id, ['awaiting_approval'], denied('Nobody approved it in time', now)),
  )
}

function decide(
  tx: Tx,
  deps: ApproveDeps,
  payment: PaymentRow,
  userId: string,
  change: Partial<PaymentRow>,
): PaymentRow {
  const decided = changePayment(tx, deps, payment.id, ['awaiting_approval'], { ...change, decidedBy: userId })
  if (!decided) throw noLongerWaiting()
  const action = decided.status === 'denied' ? 'wallet.payment.denied' : 'wallet.payment.approved'
  const detail = { paymentId: payment.id }
  recordAudit(tx, { actor: userId, action, target: payment.walletId ?? payment.id, detail }, deps.clock.now())
  return decided
}

function denied(reason: string, now: Date): Partial<PaymentRow> {
  return { status: 'denied', reason, settledAt: now, finalAt: now, checkAt: null }
}

function requireWaiting({ status, approvalExpiresAt }: PaymentRow, now: Date): void {
  if (status !== 'awaiting_approval' || (approvalExpiresAt && approvalExpiresAt <= now)) throw noLongerWaiting()
}

function noLongerWaiting(): AppError {
  return new AppError('conflict', 'This payment does not wait for an approval', { code: 'NOT_WAITING' })
}

import { and, eq } from 'drizzle-orm'
import { inLanes } from '../../../core/concurrency/keyed-queue.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import type { Base } from '../../base.ts'
import { changePayment, duePayments, getOwnPayment } from './payments.ts'
import { requireWithinPolicy } from './policy.ts'
import { managedWallets, type PaymentRow } from './tables.ts'
import { advanceTransfer, type TransferDeps } from './transfer.ts'

/**
 * Approves a waiting payment, which is then made even when its caller is gone.
 * @throws AppError `not_found`; `conflict` when it no longer waits; `forbidden` as `requireWithinPolicy`.
 */
export function approvePayment(deps: Base, userId: string, id: string): Promise<PaymentRow> {
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

/** A paid call is repeated by its caller; other payments are made at once. */
function checkAtOf({ kind }: PaymentRow, now: Date): Date {
  return kind === 'authorization' ? new Date(now.getTime() + APPROVED_FOR_MS) : now
}

const APPROVED_FOR_MS = 24 * 3_600_000

/** @throws AppError `not_found`; `conflict` when it no longer waits. */
export function denyPayment(deps: Base, userId: string, id: string): Promise<PaymentRow> {
  const now = deps.clock.now()
  return write(deps.db, (tx) => {
    const payment = getOwnPayment(tx, userId, id)
    requireWaiting(payment, now)
    return decide(tx, deps, payment, userId, denied('Denied by the owner', now))
  })
}

/** Denies a payment whose approval expired. */
function expireApproval(deps: Base, payment: PaymentRow): Promise<PaymentRow | null> {
  const now = deps.clock.now()
  return write(deps.db, (tx) =>
    changePayment(tx, deps, payment.id, ['awaiting_approval'], denied('It was not approved in time', now)),
  )
}

function decide(tx: Tx, deps: Base, payment: PaymentRow, userId: string, change: Partial<PaymentRow>): PaymentRow {
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

/**
 * Records the owner's word on a payment that an external gateway does not report. Payments on a chain cannot be
 * resolved this way.
 * @throws AppError `not_found`; `conflict` for a payment that is not `unknown` or is on a chain.
 */
export function resolvePayment(
  deps: Base,
  userId: string,
  id: string,
  status: 'succeeded' | 'failed',
): Promise<PaymentRow> {
  const now = deps.clock.now()
  return write(deps.db, (tx) => {
    const { kind, walletId } = getOwnPayment(tx, userId, id)
    if (kind !== 'upstream')
      throw new AppError('conflict', 'The chain reports the outcome of this payment', { code: 'NOT_YOURS_TO_SAY' })
    const ended = { settledAt: now, finalAt: now, checkAt: null, decidedBy: userId }
    const resolved = changePayment(tx, deps, id, ['unknown'], { status, reason: 'Reported by the owner', ...ended })
    if (!resolved) throw new AppError('conflict', 'The outcome of this payment is known', { code: 'NOT_UNKNOWN' })
    const detail = { paymentId: id, status }
    recordAudit(tx, { actor: userId, action: 'wallet.payment.resolved', target: walletId ?? id, detail }, now)
    return resolved
  })
}

const EVERY_MS = 2000
const BATCH = 50
const LANES = 4

/** Settles a payment that is not a transfer, without ordering it again. */
type SettleElsewhere = (payment: PaymentRow) => Promise<unknown>

/** Settles payments left open by a crash, a slow chain or a missing response, and denies expired approvals. */
export function settlePaymentsJob(deps: TransferDeps & { settleElsewhere: SettleElsewhere }): RepeatingJob {
  return { name: 'wallets.settle', everyMs: EVERY_MS, run: () => settlePayments(deps) }
}

/** Settles all due payments. A failure is logged and does not stop the others. */
export async function settlePayments(deps: TransferDeps & { settleElsewhere: SettleElsewhere }): Promise<void> {
  if (deps.isStandby) return
  await inLanes(
    duePayments(deps.db).all({ nowMs: deps.clock.now().getTime(), limit: BATCH }),
    LANES,
    async (payment) => {
      try {
        await settleOne(deps, payment)
      } catch (error) {
        deps.log.warn({ payment: payment.id, error: errorMessage(error) }, 'cannot settle a payment')
      }
    },
  )
}

async function settleOne(
  deps: TransferDeps & { settleElsewhere: SettleElsewhere },
  payment: PaymentRow,
): Promise<void> {
  if (payment.status === 'awaiting_approval') await expireApproval(deps, payment)
  else if (payment.kind === 'transfer') await advanceTransfer(deps, payment.id, true)
  else await deps.settleElsewhere(payment)
}

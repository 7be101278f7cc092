import { type ColonyUpstream, type UpstreamAnswer, UpstreamSilence } from '../../../adapters/colony/upstream.ts'
import type { RunInLane } from '../../../core/concurrency/keyed-queue.ts'
import { AppError } from '../../../core/errors.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { changeOrReread, changePayment, getPayment } from '../wallets/payments.ts'
import { requireSendable } from '../wallets/policy.ts'
import type { PaymentRow } from '../wallets/tables.ts'
import { toObject } from './gateway.ts'

type UpstreamPaymentDeps = Base & {
  colonyUpstream: ColonyUpstream | null
  /** A standby copy of an installation pays nothing. */
  isStandby: boolean
  /** Concurrent requests for the same payment wait for its end. */
  runInWalletQueue: RunInLane
}

/** Fields that the gateway must confirm unchanged. */
const ORDER_FIELDS = ['amount', 'currency', 'recipient'] as const
/** Statuses by which gateways report the outcome of a payment. */
const SUCCEEDED = /^(?:succeeded|success|settled|completed|confirmed|paid)$/i
const FAILED = /^(?:failed|rejected|cancelled|canceled|expired|refunded|not_found)$/i
/** Longer than the timeout of a response. */
const CHECK_MS = 20_000
const MAX_PAUSE_MS = 300_000

/** Outcome of a payment and the stored response. */
type Verdict = {
  status: 'succeeded' | 'failed' | 'unknown'
  reason: string | null
  answer?: Record<string, unknown>
  hasLeft?: false
}

/**
 * Orders the gateway to pay, at most once: `sent` is committed before the request leaves, and a `sent` or `unknown`
 * payment is never sent again.
 * @throws AppError `unavailable` when the gateway cannot be reached, which fails the payment.
 */
export function payUpstream(deps: UpstreamPaymentDeps, id: string): Promise<PaymentRow> {
  return deps.runInWalletQueue(id, () => payOnce(deps, id))
}

async function payOnce(deps: UpstreamPaymentDeps, id: string): Promise<PaymentRow> {
  const upstream = requireUpstream(deps)
  const claimed = await write(deps.db, (tx) => claimOrRefuse(tx, deps, id))
  if (!claimed) return getPayment(deps.db, id)
  if (claimed.status === 'failed') return claimed
  const verdict = await askToPay(upstream, claimed)
  const settled = await settle(deps, claimed, verdict)
  if (verdict.hasLeft === false) {
    throw new AppError('unavailable', settled.reason ?? '', { success: false, paymentId: id, status: settled.status })
  }
  return settled
}

/**
 * Marks the payment as sent, or as failed when the wallet's policy no longer allows it; null when it is not `created`.
 */
function claimOrRefuse(tx: Tx, deps: UpstreamPaymentDeps, id: string): PaymentRow | null {
  const payment = getPayment(tx, id)
  if (payment.status !== 'created') return null
  const now = deps.clock.now()
  try {
    requireSendable(tx, deps, payment)
  } catch (error) {
    if (!(error instanceof AppError && error.kind === 'forbidden')) throw error
    const refused = { status: 'failed', reason: error.message, settledAt: now, finalAt: now, checkAt: null } as const
    return changePayment(tx, deps, id, ['created'], refused)
  }
  const checkAt = new Date(now.getTime() + CHECK_MS)
  return changePayment(tx, deps, id, ['created'], { status: 'sent', sentAt: now, checkAt })
}

/**
 * Settles a payment whose caller has disconnected: an unsent one fails unless its owner approved it since; the gateway
 * is queried about any other.
 */
export async function settleUpstream(deps: UpstreamPaymentDeps, payment: PaymentRow): Promise<PaymentRow> {
  if (payment.status === 'created' && payment.keepsTrying) return payUpstream(deps, payment.id)
  if (payment.status === 'created') {
    return settle(deps, payment, { status: 'failed', reason: 'Interrupted before it was sent' })
  }
  return settle(deps, payment, await askAfter(requireUpstream(deps), payment))
}

/** Returns the gateway's stored response. */
export function readGatewayAnswer({ detail }: PaymentRow): Record<string, unknown> {
  return toObject(detail.answer)
}

async function askToPay(upstream: ColonyUpstream, payment: PaymentRow): Promise<Verdict> {
  try {
    return judge(payment, await upstream.pay(payment.id, toObject(payment.detail.order)))
  } catch (error) {
    if (!(error instanceof UpstreamSilence)) throw error
    if (!error.hasLeft) return { status: 'failed', reason: error.message, hasLeft: false }
    return { status: 'unknown', reason: 'The gateway did not answer in time' }
  }
}

/** A rejection means that nothing was paid; a gateway error leaves the outcome unknown. */
function judge(payment: PaymentRow, { isOk, status, body, text }: UpstreamAnswer): Verdict {
  if (status >= 400 && status < 500 && ![408, 409, 425].includes(status)) {
    return { status: 'failed', reason: `The gateway refused: ${status} ${text}`.trim() }
  }
  if (!isOk || !body) return { status: 'unknown', reason: `The gateway answered ${status}` }
  if (body.ok === false || body.success === false || FAILED.test(String(body.status))) {
    return { status: 'failed', reason: `The gateway refused: ${text}` }
  }
  const odd = findDifference(payment, body)
  if (odd) return { status: 'unknown', reason: `The gateway reports another ${odd}`, answer: body }
  return { status: 'succeeded', reason: null, answer: body }
}

/** If the gateway reports payment details, they must match the order. */
function findDifference({ detail }: PaymentRow, body: Record<string, unknown>): string | null {
  const order = toObject(detail.order)
  const reported = { ...toObject(body.result), ...toObject(body.payment), ...body }
  for (const field of ORDER_FIELDS) {
    if (reported[field] !== undefined && String(reported[field]).toLowerCase() !== String(order[field]).toLowerCase())
      return field
  }
  return null
}

async function askAfter(upstream: ColonyUpstream, payment: PaymentRow): Promise<Verdict> {
  try {
    const { isOk, body, status } = await upstream.findPayment(payment.id)
    const reported = toObject(body?.payment ?? body)
    // A gateway reports an unknown payment with a status; a bare 404 comes from one without this route.
    if (FAILED.test(String(reported.status)))
      return { status: 'failed', reason: `The gateway reports: ${reported.status}` }
    if (!isOk || !SUCCEEDED.test(String(reported.status))) {
      return { status: 'unknown', reason: payment.reason ?? `The gateway answered ${status}` }
    }
    const odd = findDifference(payment, reported)
    if (odd) return { status: 'unknown', reason: `The gateway reports another ${odd}`, answer: reported }
    return { status: 'succeeded', reason: null, answer: reported }
  } catch (error) {
    if (!(error instanceof UpstreamSilence)) throw error
    return { status: 'unknown', reason: payment.reason ?? error.message }
  }
}

/** Stores the verdict unless the status has changed. */
function settle(deps: UpstreamPaymentDeps, payment: PaymentRow, verdict: Verdict): Promise<PaymentRow> {
  const now = deps.clock.now()
  const { status, reason, answer } = verdict
  const pauseMs = Math.min(MAX_PAUSE_MS, 5000 * 2 ** Math.min(payment.checks, 10))
  const open = { checks: payment.checks + 1, checkAt: new Date(now.getTime() + pauseMs) }
  const ended = { settledAt: now, finalAt: now, checkAt: null }
  const hash = answer?.transactionHash ?? answer?.txHash
  return write(deps.db, (tx) => {
    const change = {
      status,
      reason,
      ...(verdict.hasLeft === false && { sentAt: null }),
      ...(answer && { detail: { ...payment.detail, answer } }),
      ...(typeof hash === 'string' && { transactionHash: hash.slice(0, 100) }),
      ...(status === 'unknown' ? open : ended),
    }
    return changeOrReread(tx, deps, payment, change)
  })
}

function requireUpstream({ colonyUpstream }: UpstreamPaymentDeps): ColonyUpstream {
  if (colonyUpstream) return colonyUpstream
  throw new AppError('unavailable', 'X402_GATEWAY_URL is not set any more', { code: 'NOT_CONFIGURED' })
}

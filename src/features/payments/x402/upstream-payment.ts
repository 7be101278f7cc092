import { type ColonyUpstream, type UpstreamAnswer, UpstreamSilence } from '../../../adapters/colony/upstream.ts'
import type { Clock } from '../../../core/clock.ts'
import type { RunInLane } from '../../../core/concurrency/keyed-queue.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { changeOrReread, changePayment, getPayment } from '../wallets/payments.ts'
import { requireSendable } from '../wallets/policy.ts'
import type { PaymentRow } from '../wallets/tables.ts'
import { toObject } from './gateway.ts'

export type UpstreamPaymentDeps = {
  db: Db
  clock: Clock
  colonyUpstream: ColonyUpstream | null
  /** A copy of an installation leaves all payments to the original. */
  standsBack: boolean
  /** Whoever asks for the same payment meanwhile waits for its end. */
  runInWalletQueue: RunInLane
}

/** What is sent to the gateway. */
const ORDER_FIELDS = ['amount', 'currency', 'recipient'] as const
/** Statuses by which gateways say how a payment ended. */
const SUCCEEDED = /^(?:succeeded|success|settled|completed|confirmed|paid)$/i
const FAILED = /^(?:failed|rejected|cancelled|canceled|expired|refunded|not_found)$/i
/** Longer than an answer is waited for. */
const CHECK_MS = 20_000
const MAX_PAUSE_MS = 300_000

/** What becomes of the payment, and what is kept of the answer. */
type Verdict = {
  status: 'succeeded' | 'failed' | 'unknown'
  reason: string | null
  answer?: Record<string, unknown>
  hasLeft?: false
}

/**
 * Orders the gateway to pay, at most once: that it is `sent` is durable before the request leaves, and a payment that is
 * `sent` or `unknown` is never sent again. One that has been sent already is returned as it stands.
 * @throws AppError `unavailable` when the gateway could not be reached: the payment has failed then.
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

/** Marks the payment as sent, or as failed when the wallet's policy no longer allows it; null when it is not `created`. */
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
 * Looks after a payment whose spender is gone: what was never sent ends, unless its owner has approved it since; what may
 * have been is asked after by its id.
 */
export async function settleUpstream(deps: UpstreamPaymentDeps, payment: PaymentRow): Promise<PaymentRow> {
  if (payment.status === 'created' && payment.keepsTrying) return payUpstream(deps, payment.id)
  if (payment.status === 'created') {
    return settle(deps, payment, { status: 'failed', reason: 'It was interrupted before anything left' })
  }
  return settle(deps, payment, await askAfter(requireUpstream(deps), payment))
}

/** What the gateway said of a payment, without what is ours to say. */
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

/** A refusal says that nothing was paid; an error of the gateway itself says nothing. */
function judge(payment: PaymentRow, { isOk, status, body, text }: UpstreamAnswer): Verdict {
  if (status >= 400 && status < 500 && ![408, 409, 425].includes(status)) {
    return { status: 'failed', reason: `The gateway refused: ${status} ${text}`.trim() }
  }
  if (!isOk || !body) return { status: 'unknown', reason: `The gateway answered ${status}` }
  if (body.ok === false || body.success === false || FAILED.test(String(body.status))) {
    return { status: 'failed', reason: `The gateway refused: ${text}` }
  }
  const odd = findDifference(payment, body)
  if (odd) return { status: 'unknown', reason: `The gateway says that it paid another ${odd}`, answer: body }
  return { status: 'succeeded', reason: null, answer: body }
}

/** A gateway that tells what it paid must tell what it was asked to. */
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
    // A gateway that knows payments says so of one that it does not know; any other 404 is of one that knows none.
    if (FAILED.test(String(reported.status)))
      return { status: 'failed', reason: `The gateway says: ${reported.status}` }
    if (!isOk || !SUCCEEDED.test(String(reported.status))) {
      return { status: 'unknown', reason: payment.reason ?? `The gateway answered ${status}` }
    }
    const odd = findDifference(payment, reported)
    if (odd) return { status: 'unknown', reason: `The gateway says that it paid another ${odd}`, answer: reported }
    return { status: 'succeeded', reason: null, answer: reported }
  } catch (error) {
    if (!(error instanceof UpstreamSilence)) throw error
    return { status: 'unknown', reason: payment.reason ?? error.message }
  }
}

/** Writes the verdict unless another came first. */
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

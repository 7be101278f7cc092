import { and, desc, eq, isNotNull, or } from 'drizzle-orm'
import { z } from 'zod'
import { toAddress } from '../../../adapters/chain/token-chain.ts'
import type { Egress } from '../../../adapters/egress/egress.ts'
import {
  type Demand,
  fetchPaying,
  type PaidAnswer,
  type PaymentAuthorization,
} from '../../../adapters/paid-fetch/paid-fetch.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once } from '../../../http/env.ts'
import type { EgressEnforcement } from '../../agents/egress/enforce.ts'
import type { Base } from '../../base.ts'
import type { TokenChains } from '../wallets/balance.ts'
import { openSigningAccount } from '../wallets/create.ts'
import { orderPayment } from '../wallets/order.ts'
import { changeOrReread, changePayment, getPayment } from '../wallets/payments.ts'
import { copyCannotPay, requireSendable } from '../wallets/policy.ts'
import { toPayment } from '../wallets/state.ts'
import { type PaymentRow, type WalletRow, walletPayments } from '../wallets/tables.ts'
import type { TransferDeps } from '../wallets/transfer.ts'
import type { PaidCall } from './schemas.ts'

export type PaidCallDeps = TransferDeps &
  Base & {
    approvalExpiryMinutes: number
    egress: Egress
    egressEnforcement: Pick<EgressEnforcement, 'egressOf'>
  }

/** `answer` is null while the payment waits for approval; the caller repeats the call later. */
type PaidCallOutcome = { answer: PaidAnswer | null; payment: PaymentRow | null }

/** The call itself settles the payment within this time; after that the job does. */
const GRACE_MS = 60_000

/**
 * Makes a request and pays for it from `wallet` within its policy, at most once and at most the caller's maximum. The
 * signature is stored before it leaves.
 * @throws AppError `forbidden` as the policy, `payment_required` when it cannot be paid, `conflict` when an earlier
 * attempt with the same key paid, `upstream_timeout` when the response is missing and the money may have moved;
 * EgressError.
 */
export async function callPaying(
  deps: PaidCallDeps,
  wallet: WalletRow,
  call: PaidCall,
  once: Once,
): Promise<PaidCallOutcome> {
  if (once.made) throw alreadyPaid(getPayment(deps.db, once.made))
  const chain = deps.tokenChains.USDC
  chain.requireConfigured()
  const { chainId, token } = chain.terms
  let ordered: PaymentRow | null = null
  let hasLeft = false
  const allow = async (demand: Demand) => {
    ordered = await orderCall(deps, wallet, call, demand, once)
    if (ordered.status === 'awaiting_approval') throw waiting(ordered)
  }
  const note = async (signed: PaymentAuthorization) => {
    if (ordered) ordered = await noteSigned(deps, ordered, signed)
    hasLeft = true
  }
  const account = await openSigningAccount(deps, wallet)
  const payer = { account, chainId, token, maxAmount: BigInt(call.maxAmount), allow, note }
  const { url, method, headers, body } = call
  const { agentId } = wallet
  const egress = agentId === null ? deps.egress : deps.egressEnforcement.egressOf(agentId)
  try {
    const answer = await fetchPaying(egress, { url, method, headers, body }, payer)
    return { answer, payment: ordered && (await settleAuthorization(deps, ordered, answer.transactionHash)) }
  } catch (error) {
    if (!ordered) throw error
    return hasLeft ? leaveUnknown(deps, ordered, error) : endUnsigned(deps, ordered, error)
  }
}

/** Returns the payment for this demand: an approved one that waited, or a new one. */
function orderCall(
  deps: PaidCallDeps,
  wallet: WalletRow,
  call: PaidCall,
  demand: Demand,
  once: Once,
): Promise<PaymentRow> {
  if (deps.isStandby) throw copyCannotPay()
  const order = toOrder(deps, wallet, call, demand)
  return write(deps.db, (tx) => {
    const payment = findWaiting(tx, wallet.id, order.requestHash) ?? orderPayment(tx, deps, order)
    if (payment.status !== 'awaiting_approval') once.note(tx, payment.id)
    return payment
  })
}

function toOrder({ tokenChains }: PaidCallDeps, wallet: WalletRow, call: PaidCall, demand: Demand) {
  return {
    wallet,
    userId: wallet.userId,
    agentId: wallet.agentId,
    kind: 'authorization' as const,
    purpose: 'paid-call',
    reference: newId('call'),
    requestHash: hashOfCall(call, demand),
    recipient: demand.payTo,
    amountMicroUsd: Number(demand.amount),
    currency: 'USDC',
    chainId: tokenChains.USDC.terms.chainId,
    detail: { url: new URL(call.url).origin },
  }
}

function hashOfCall({ url, method, body }: PaidCall, { payTo, amount }: Demand): string {
  return sha256(JSON.stringify([method, url, body ?? null, payTo, Number(amount)]))
}

/** Finds the same call waiting for approval, or approved since. */
function findWaiting(db: Db, walletId: string, requestHash: string): PaymentRow | null {
  const isOpen = or(
    eq(walletPayments.status, 'awaiting_approval'),
    and(eq(walletPayments.status, 'created'), isNotNull(walletPayments.decidedBy)),
  )
  const isSame = and(eq(walletPayments.walletId, walletId), eq(walletPayments.requestHash, requestHash), isOpen)
  return db.select().from(walletPayments).where(isSame).orderBy(desc(walletPayments.createdAt)).limit(1).get() ?? null
}

/**
 * Marks the payment as sent: from now on the seller may take the money.
 * @throws AppError as `requireSendable`; `conflict` when another call uses the payment.
 */
async function noteSigned(deps: PaidCallDeps, payment: PaymentRow, signed: PaymentAuthorization): Promise<PaymentRow> {
  if (signed.amount !== BigInt(payment.amountMicroUsd) || signed.to !== payment.recipient) {
    throw new AppError('internal', 'What was signed is not what was ordered')
  }
  const now = deps.clock.now()
  const { nonce, validBefore } = signed
  const sent = await write(deps.db, (tx) => {
    requireSendable(tx, deps, payment)
    return changePayment(tx, deps, payment.id, ['created'], {
      status: 'sent',
      sentAt: now,
      checkAt: new Date(now.getTime() + GRACE_MS),
      detail: { ...payment.detail, authorization: { nonce, validBefore } },
    })
  })
  if (!sent) throw new AppError('conflict', 'This payment is being made already', { code: 'PAYMENT_UNDER_WAY' })
  return sent
}

/** Ends a payment whose signature never left, unless it waits for approval. Another call may use the same payment. */
async function endUnsigned(deps: PaidCallDeps, ordered: PaymentRow, error: unknown): Promise<PaidCallOutcome> {
  const payment = getPayment(deps.db, ordered.id)
  if (payment.status === 'awaiting_approval') return { answer: null, payment }
  const now = deps.clock.now()
  const reason = error instanceof AppError ? error.message : 'It could not be signed'
  const ended = { status: 'failed', reason, settledAt: now, finalAt: now, checkAt: null } as const
  await write(deps.db, (tx) => changePayment(tx, deps, payment.id, ['created'], ended))
  throw error
}

/** The signature was sent without a response, so the outcome is unknown until the chain reports it. */
async function leaveUnknown(deps: PaidCallDeps, { id }: PaymentRow, error: unknown): Promise<never> {
  const reason = 'The seller did not answer after it was paid'
  await write(deps.db, (tx) => changePayment(tx, deps, id, ['sent'], { status: 'unknown', reason }))
  throw unanswered(id, error)
}

function unanswered(paymentId: string, cause: unknown): AppError {
  const extra = { code: 'PAYMENT_UNKNOWN', paymentId, status: 'unknown' }
  return new AppError(
    'upstream_timeout',
    'The seller did not answer; whether it took the money is not known yet',
    extra,
    { cause },
  )
}

function waiting({ id }: PaymentRow): AppError {
  return new AppError('payment_required', 'This payment waits for its owner', {
    code: 'APPROVAL_REQUIRED',
    paymentId: id,
  })
}

/** Responses are not stored: they can contain anything. */
function alreadyPaid({ id, status }: PaymentRow): AppError {
  return new AppError('conflict', 'An earlier call with this Idempotency-Key has ordered its payment already', {
    code: 'PAYMENT_ORDERED',
    paymentId: id,
    status,
  })
}

const Signed = z.object({ authorization: z.object({ nonce: z.string(), validBefore: z.number() }) })
const PAUSE_MS = 15_000
const MAX_PAUSE_MS = 300_000

/**
 * Checks on the chain whether the seller used the signature. Unused and expired means failed. `transactionHash` is the
 * seller's claim.
 */
export async function settleAuthorization(
  deps: Pick<TransferDeps, 'db' | 'clock' | 'tokenChains'>,
  payment: PaymentRow,
  transactionHash: string | null = payment.transactionHash,
): Promise<PaymentRow> {
  const now = deps.clock.now()
  const change = (next: Partial<PaymentRow>) => write(deps.db, (tx) => changeOrReread(tx, deps, payment, next))
  const ended = { settledAt: now, finalAt: now, checkAt: null }
  if (payment.status === 'created') return change({ status: 'failed', reason: 'Nothing was signed for it', ...ended })
  const found = await findOnChain(deps, payment)
  const known = transactionHash === null ? {} : { transactionHash }
  if (found === 'used') return change({ status: 'succeeded', reason: null, ...known, ...ended })
  if (found === 'over')
    return change({ status: 'failed', reason: 'The seller did not take the money in time', ...ended })
  const reason = 'The seller has not taken the money yet'
  return change({ status: 'unknown', reason, ...toNextLook(payment, now), ...known })
}

function toNextLook({ checks }: PaymentRow, now: Date) {
  const pauseMs = Math.min(MAX_PAUSE_MS, PAUSE_MS * 2 ** Math.min(checks, 5))
  return { checks: checks + 1, checkAt: new Date(now.getTime() + pauseMs) }
}

async function findOnChain(
  { tokenChains }: Pick<TransferDeps, 'db' | 'clock' | 'tokenChains'>,
  { detail, fromAddress }: PaymentRow,
): Promise<'used' | 'over' | 'open'> {
  const { nonce, validBefore } = Signed.parse(detail).authorization
  try {
    const owner = toAddress(fromAddress ?? '')
    const { isUsed, chainTime } = await tokenChains.USDC.findAuthorization(owner, `0x${nonce.slice(2)}`)
    if (isUsed) return 'used'
    return chainTime >= validBefore ? 'over' : 'open'
  } catch (error) {
    if (error instanceof AppError) return 'open'
    throw error
  }
}

/** Returns the seller's response without its payment headers. */
export function toCallAnswer({ tokenChains }: { tokenChains: TokenChains }, { answer, payment }: PaidCallOutcome) {
  return {
    response: answer && { status: answer.status, headers: answer.headers, body: answer.body },
    payment: payment && toPayment(tokenChains, payment),
  }
}

import { and, desc, eq, gt, isNull } from 'drizzle-orm'
import { CURRENCIES, type Currency } from '../../../adapters/chain/token-chain.ts'
import type { ColonyUpstream } from '../../../adapters/colony/upstream.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { formatMicroUsd, parseMicroUsd } from '../../../core/money.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once, SignedInUser } from '../../../http/env.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { findWallet } from '../wallets/create.ts'
import { orderPayment, requireSucceeded, type TransferOrderDeps } from '../wallets/order.ts'
import { getPayment } from '../wallets/payments.ts'
import { type PaymentRow, type WalletRow, walletPayments } from '../wallets/tables.ts'
import { advanceUntilSettled } from '../wallets/transfer.ts'
import type { X402Request } from './schemas.ts'
import { payUpstream, readGatewayAnswer } from './upstream-payment.ts'

/** `colonyUpstream` is null with the built-in gateway. */
export type PayDeps = TransferOrderDeps & { colonyUpstream: ColonyUpstream | null }

type Attempt = { user: SignedInUser; request: PayRequest; once: Once; address: string | null; hasKey: boolean }

/** Without an idempotency key, the same payment within this time counts as a repeat. */
const REPEAT_MS = 60_000
const WAIT_MS = 15_000

/**
 * Pays once. Every attempt is in the audit log before anything is sent, also a rejected one.
 * @returns the response body. @throws AppError for anything but a paid or waiting payment.
 */
export async function pay(
  deps: PayDeps,
  attempt: Attempt,
): Promise<{ body: Record<string, unknown>; isWaiting: boolean }> {
  const ordered = await orderOnce(deps, attempt)
  const payment = requireSucceeded(await carryOut(deps, ordered))
  const isWaiting = payment.status === 'awaiting_approval'
  return { body: toAnswer(deps, payment), isWaiting }
}

async function orderOnce(deps: PayDeps, attempt: Attempt): Promise<PaymentRow> {
  const { once } = attempt
  const made = once.made === null ? null : getPayment(deps.db, once.made)
  // A first attempt that was never sent is replaced.
  if (made && !(made.status === 'failed' && made.sentAt === null)) return made
  const outcome = await write(deps.db, (tx) => {
    const decided = withRefusal(() => decide(deps, tx, attempt))
    audit(tx, attempt, decided, deps.clock.now())
    if (!(decided instanceof AppError)) once.note(tx, decided.id)
    return decided
  })
  if (outcome instanceof AppError) throw outcome
  return outcome
}

/** Returns a rejection instead of throwing, so that its audit entry is committed. */
function withRefusal<T>(task: () => T): T | AppError {
  try {
    return task()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

/** @throws AppError when it cannot be paid here, and as `orderPayment`. */
function decide(deps: PayDeps, tx: Tx, { user, request, hasKey }: Attempt): PaymentRow {
  const way = describeWay(deps, request)
  const requestHash = hashOf(request)
  const repeated = hasKey || request.identifier ? null : findRecent(tx, user.id, requestHash, deps.clock.now())
  if (repeated) return repeated
  const { agentId, amountMicroUsd, currency } = request
  const wallet = findWallet(tx, { userId: user.id, agentId })
  if (way.kind === 'transfer' && !wallet) {
    throw new AppError('payment_required', 'This agent has no wallet to pay from', { code: 'NO_WALLET' })
  }
  return orderPayment(tx, deps, {
    ...way,
    wallet,
    userId: user.id,
    agentId: hasAgent(wallet, agentId) ? agentId : null,
    purpose: 'x402.pay',
    reference: request.identifier ? `x402:${user.id}:${request.identifier}` : newId('x402'),
    requestHash,
    amountMicroUsd,
    currency,
    detail: { order: toUpstreamOrder(request) },
  })
}

/** Agents of an external gateway have no row here. */
function hasAgent(wallet: WalletRow | null, agentId: string): boolean {
  return wallet?.agentId === agentId
}

/** @throws AppError `invalid` when it cannot be paid here, `unavailable` NOT_CONFIGURED without a chain. */
function describeWay({ colonyUpstream, tokenChains }: PayDeps, { currency, recipient }: PayRequest) {
  if (colonyUpstream) return { kind: 'upstream', chainId: null, recipient } as const
  if (!isCurrency(currency)) throw new AppError('invalid', `Currency must be ${CURRENCIES.join(' or ')}`)
  const chain = tokenChains[currency]
  if (!recipient.startsWith('0x')) {
    throw new AppError(
      'invalid',
      `Invalid recipient address: ${currency} is paid to addresses of ${chain.terms.network}`,
    )
  }
  chain.requireConfigured()
  return { kind: 'transfer', chainId: chain.terms.chainId, recipient: recipient.toLowerCase() } as const
}

function carryOut(deps: PayDeps, payment: PaymentRow): Promise<PaymentRow> {
  if (payment.kind === 'transfer') return advanceUntilSettled(deps, payment.id, WAIT_MS)
  return payUpstream(deps, payment.id)
}

function findRecent(db: Db, userId: string, requestHash: string, now: Date): PaymentRow | null {
  const isSame = and(
    eq(walletPayments.userId, userId),
    gt(walletPayments.createdAt, new Date(now.getTime() - REPEAT_MS)),
    eq(walletPayments.requestHash, requestHash),
    isNull(walletPayments.decidedBy),
  )
  const order = desc(walletPayments.createdAt)
  const row = db.select().from(walletPayments).where(isSame).orderBy(order).limit(1).get() ?? null
  // A payment that did not move money may be retried at once.
  return row?.status === 'failed' || row?.status === 'denied' ? null : row
}

function hashOf({ identifier: _identifier, ...request }: PayRequest): string {
  return sha256(JSON.stringify(Object.entries(request).sort(([one], [other]) => one.localeCompare(other))))
}

/** Records every attempt with e-mail, amount, currency, recipient and method. */
function audit(tx: Tx, { user, request, address }: Attempt, decided: PaymentRow | AppError, now: Date): void {
  const outcome =
    decided instanceof AppError ? { refused: decided.message } : { paymentId: decided.id, status: decided.status }
  const { amountMicroUsd, currency, recipient, method, endpoint, agentId } = request
  const detail = { email: user.email, agentId, amountMicroUsd, currency, recipient, method, endpoint, ...outcome }
  recordAudit(tx, { actor: user.id, action: 'x402.pay', target: agentId, detail, address }, now)
}

function toAnswer({ tokenChains }: PayDeps, payment: PaymentRow): Record<string, unknown> {
  const chain = Object.values(tokenChains).find(({ terms }) => terms.chainId === payment.chainId)
  return {
    ...readGatewayAnswer(payment),
    ...(payment.detail.order ?? {}),
    success: true,
    paymentId: payment.id,
    status: payment.status,
    ...(chain && { network: chain.terms.network, transactionHash: payment.transactionHash }),
  }
}

function isCurrency(text: string): text is Currency {
  return CURRENCIES.some((currency) => currency === text)
}

/** A validated payment request. */
type PayRequest = {
  agentId: string
  amountMicroUsd: number
  recipient: string
  currency: string
  endpoint: string | null
  method: string
  /** The payment identifier of x402: an equal one is the same payment. */
  identifier: string | null
}

/** Maximum per payment, in dollars. */
const MAX_USD = 100
const EVM_RECIPIENT = /^0x[0-9a-fA-F]{40}$/
const BASE58_RECIPIENT = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/
const IDENTIFIER = /^[A-Za-z0-9_-]{16,128}$/
const MAX_TEXT = 200

/** Validates in the order that existing clients expect. @throws AppError `invalid`. */
export function parsePayRequest(body: X402Request, agentId: string): PayRequest {
  const amountMicroUsd = parseAmount(body.amount)
  const { recipient } = body
  if (typeof recipient !== 'string' || recipient === '') throw new AppError('invalid', 'Recipient required')
  if (!EVM_RECIPIENT.test(recipient) && !BASE58_RECIPIENT.test(recipient)) {
    throw new AppError('invalid', 'Invalid recipient address')
  }
  return {
    agentId,
    amountMicroUsd,
    recipient,
    currency: readText(body, 'currency') ?? 'USDC',
    endpoint: readText(body, 'endpoint'),
    method: readText(body, 'method') ?? 'default',
    identifier: readIdentifier(body),
  }
}

/**
 * Reads a JSON number by its decimal digits; more than six decimals or an exponent are rejected. @throws AppError
 * `invalid`.
 */
function parseAmount(amount: unknown): number {
  if (typeof amount !== 'number' || !Number.isFinite(amount) || !(amount > 0))
    throw new AppError('invalid', 'Invalid amount')
  if (amount > MAX_USD) {
    throw new AppError('invalid', 'Amount exceeds $100 limit. Contact support for higher limits.')
  }
  const microUsd = parseMicroUsd(amount)
  if (microUsd === null || microUsd <= 0) throw new AppError('invalid', 'Invalid amount')
  return microUsd
}

/** Returns the order for an external gateway; the JSON number has exactly the given digits. */
function toUpstreamOrder({ agentId, amountMicroUsd, currency, recipient, endpoint, method }: PayRequest) {
  const amount = Number(formatMicroUsd(amountMicroUsd))
  return { agentId, amount, currency, recipient, ...(endpoint !== null && { endpoint }), method }
}

function readText(body: X402Request, name: string): string | null {
  const value = body[name]
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string' || value.length > MAX_TEXT) throw new AppError('invalid', `${name} must be text`)
  return value
}

/** Reads `extensions["payment-identifier"].info.id`, as x402 defines it. */
function readIdentifier({ extensions }: X402Request): string | null {
  const info = readObject(readObject(extensions)?.['payment-identifier'])?.info
  const id = readObject(info)?.id
  if (id === undefined) return null
  if (typeof id === 'string' && IDENTIFIER.test(id)) return id
  throw new AppError('invalid', 'A payment identifier has 16 to 128 letters, digits, dashes and underscores')
}

function readObject(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null ? { ...value } : null
}

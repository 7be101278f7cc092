import { createHmac } from 'node:crypto'
import { eq } from 'drizzle-orm'
import type { Payment, TokenPayments } from '../../../adapters/chain/token-payments.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { MAX_MICRO_USD } from '../../../core/money.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once, SignedInUser } from '../../../http/env.ts'
import { readKeptKey } from '../../accounts/encryption/master-key.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import type { Base } from '../../base.ts'
import { requestOperation } from '../operations/operations.ts'
import { getAgent, insertAgent } from '../registry/agents.ts'
import { requireAgentQuota, requireProvisioning, requireSubscription, withinPlan } from '../registry/limits.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import type { CloneRequest, PaymentProof } from './schemas.ts'
import { type ClonePaymentRow, clonePayments } from './tables.ts'

/** Returns the address of an agent's wallet, which it creates at the first call. */
export type OpenAgentWallet = (userId: string, agentId: string) => Promise<string>

/**
 * Creates a child of one of the user's agents, one generation higher, with its settings but not its secrets, and
 * deploys it in the background. The payment is claimed in the transaction that creates the child.
 * @throws AppError `unavailable` when provisioning is switched off or the chain does not respond, `not_found` for a
 * foreign parent, `payment_required` without a subscription or for an invalid proof, `limited` at the cap, `conflict`
 * for a used payment.
 */
export async function cloneAgent(
  deps: Base & { clonePayments: TokenPayments; killSwitch: boolean; bookClonePayment: BookClonePayment },
  user: SignedInUser,
  request: CloneRequest,
  note: Once['note'],
): Promise<AgentRow> {
  const principal = { kind: 'user', user } as const
  requireProvisioning(deps)
  getAgent(deps.db, principal, request.parentAgentId)
  if (!user.isAdmin) requireSubscription(deps.db, user)
  const transfers = await requirePayment(deps, user.id, request.paymentProof)
  const { transactionHash } = request.paymentProof
  const { chainId } = deps.clonePayments.terms
  return write(deps.db, (tx) => {
    const parent = getAgent(tx, principal, request.parentAgentId)
    if (!user.isAdmin) requireAgentQuota(tx, user, undefined)
    const child = insertChild(deps, tx, { user, parent, request })
    claimTransfer(tx, deps, { chainId, transactionHash, transfers }, child.id, deps.clock.now())
    note(tx, child.id)
    requestOperation(deps, tx, child.id, { kind: 'deploy', requestedBy: user.id })
    return child
  })
}

type Family = { user: SignedInUser; parent: AgentRow; request: CloneRequest }

function insertChild(deps: { clock: Clock; sealer: Sealer }, tx: Tx, { user, parent, request }: Family): AgentRow {
  const child = insertAgent(deps, tx, {
    ownerId: user.id,
    name: request.name,
    model: parent.model,
    // The parent may date from a time when its owner had a larger plan.
    plan: withinPlan({ kind: 'user', user }, parent.plan),
    aiProvider: parent.aiProvider,
    status: 'provisioning',
  })
  const inherited = {
    parentId: parent.id,
    config: parent.config,
    image: parent.image,
    specialization: request.specialization,
    generation: (request.generation ?? parent.generation) + 1,
  }
  tx.update(agents).set(inherited).where(eq(agents.id, child.id)).run()
  return { ...child, ...inherited }
}

/** A transfer that pays for a clone of the user. */
type OwnTransfer = { logIndex: number; amountMicroUsd: number }

const CURRENCY = 'pathUSD'
/** The price of a clone. */
export const CLONE_PRICE = `1.0 ${CURRENCY}`
const PRICE = 1n
const MAX_AGE_MS = 24 * 3_600_000
const MAX_DECIMALS = 36
const MICRO_DECIMALS = 6

/** Returns the memo with which `userId` can pay from any wallet. */
export function memoFor({ db, sealer }: { db: Db; sealer: Sealer }, userId: string): `0x${string}` {
  return `0x${createHmac('sha256', readKeptKey(db, sealer, 'clone-memo'))
    .update(userId)
    .digest('hex')}`
}

/**
 * Returns the transfers in `proof` that pay for a clone of this user: enough of the token to the payee, at most a day
 * old, from a wallet of the user or with their memo.
 * @throws AppError `payment_required` with the reason, `unavailable` when the chain does not respond.
 */
async function requirePayment(
  deps: Base & { clonePayments: TokenPayments },
  userId: string,
  proof: PaymentProof,
): Promise<OwnTransfer[]> {
  const { terms } = deps.clonePayments
  const { transactionHash: hash } = proof
  if (proof.chainId !== terms.chainId) throw badProof(`chainId must be ${terms.chainId}`)
  if (proof.currency !== CURRENCY) throw badProof(`currency must be ${CURRENCY}`)
  if (!isHash(hash)) throw badProof('there is no such transaction')
  const payment = await deps.clonePayments.find(hash)
  if (!payment) throw badProof('the transaction was not found on the chain, or it failed')
  if (proof.to.toLowerCase() !== terms.payTo) throw badProof('it names another payee')
  requireRecent(payment, deps.clock.now())
  const from = proof.from.toLowerCase()
  const least = max(PRICE * 10n ** BigInt(payment.decimals), toUnits(proof.amount, payment.decimals))
  const paid = payment.transfers.filter((transfer) => transfer.from === from && transfer.value >= least)
  if (paid.length === 0) throw badProof('the transaction holds no transfer of this amount from this payer to the payee')
  const memo = memoFor(deps, userId)
  const isOwnWallet = listWallets(deps.db, userId).includes(from)
  const own = paid.filter((transfer) => isOwnWallet || transfer.memo === memo)
  if (own.length === 0) throw badProof('the payer is no wallet of this account, and the transfer has no memo of it')
  return own.map(({ logIndex, value }) => ({ logIndex, amountMicroUsd: toMicroUsd(value, payment.decimals) }))
}

/** Records a clone payment in micro-dollars in the ledger; `isUndone` reverses it. */
export type BookClonePayment = (
  tx: Tx,
  payment: { reference: string; amountMicroUsd: number; isUndone: boolean },
) => void

/** Time until a payment is checked again. */
const FIRST_LOOK_MS = 30_000

/**
 * Claims one of `transfers` for the clone `agentId` in the caller's transaction and records it. Each transfer pays
 * once.
 * @throws AppError `conflict` when all are claimed.
 */
function claimTransfer(
  tx: Tx,
  { bookClonePayment }: { bookClonePayment: BookClonePayment },
  payment: { chainId: number; transactionHash: string; transfers: readonly OwnTransfer[] },
  agentId: string,
  claimedAt: Date,
): void {
  const { chainId, transfers } = payment
  const transactionHash = payment.transactionHash.toLowerCase()
  const checkAt = new Date(claimedAt.getTime() + FIRST_LOOK_MS)
  for (const { logIndex, amountMicroUsd } of transfers) {
    const row = { chainId, transactionHash, logIndex, agentId, claimedAt, amountMicroUsd, checkAt }
    if (tx.insert(clonePayments).values(row).onConflictDoNothing().run().changes === 0) continue
    bookClonePayment(tx, { reference: toReference(row), amountMicroUsd, isUndone: false })
    return
  }
  throw new AppError('conflict', 'This payment was already used for a clone', { code: 'PAYMENT_USED' })
}

/** Returns the ledger reference of a payment. */
export function toReference({
  chainId,
  transactionHash,
  logIndex,
}: Pick<ClonePaymentRow, 'chainId' | 'transactionHash' | 'logIndex'>): string {
  return `clone:${chainId}:${transactionHash}:${logIndex}`
}

/**
 * Converts to micro-dollars, rounding down. @throws AppError `payment_required` when the amount is too large to
 * represent.
 */
function toMicroUsd(value: bigint, decimals: number): number {
  const microUsd =
    decimals >= MICRO_DECIMALS
      ? value / 10n ** BigInt(decimals - MICRO_DECIMALS)
      : value * 10n ** BigInt(MICRO_DECIMALS - decimals)
  if (microUsd > BigInt(MAX_MICRO_USD)) throw badProof('it is more than can be counted')
  return Number(microUsd)
}

/** The chain's clock may be ahead of ours, so the later of the two counts. */
function requireRecent({ minedAt, chainTime }: Payment, now: Date): void {
  const latest = Math.max(now.getTime(), chainTime.getTime())
  if (latest - minedAt.getTime() > MAX_AGE_MS) throw badProof('the payment is more than 24 hours old')
}

/** Converts a decimal text to the token's smallest unit, rounding up so that no claim exceeds the payment. */
function toUnits(amount: string, decimals: number): bigint {
  if (decimals > MAX_DECIMALS) throw badProof('the token cannot be counted')
  const [whole = '', fraction = ''] = amount.split('.')
  const kept = fraction.slice(0, decimals).padEnd(decimals, '0')
  const isRounded = /[1-9]/.test(fraction.slice(decimals))
  return BigInt(whole + kept) + (isRounded ? 1n : 0n)
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

function listWallets(db: Db, userId: string): string[] {
  const rows = db.select({ address: wallets.address }).from(wallets).where(eq(wallets.userId, userId)).all()
  return rows.map(({ address }) => address)
}

function isHash(text: string): text is `0x${string}` {
  return /^0x[0-9a-fA-F]{64}$/.test(text)
}

function badProof(reason: string): AppError {
  return new AppError('payment_required', 'Invalid payment proof — transaction not verified on the payment chain', {
    code: 'PAYMENT_NOT_VERIFIED',
    reason,
  })
}

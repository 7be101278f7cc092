import { eq } from 'drizzle-orm'
import { type Standing, type TokenChain, toAddress } from '../../../adapters/chain/token-chain.ts'
import type { RunInLane } from '../../../core/concurrency/keyed-queue.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { pause } from '../../../jobs/runner.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import type { Base } from '../../base.ts'
import type { TokenChains } from './balance.ts'
import { openSigningAccount } from './create.ts'
import { changeOrReread, getPayment, listTakenNonces } from './payments.ts'
import { copyCannotPay, requireSendable } from './policy.ts'
import { managedWallets, type PaymentRow, type WalletRow } from './tables.ts'

export type TransferDeps = Base & {
  tokenChains: TokenChains
  /** Serializes the transactions of an address, because their nonces must be consecutive. */
  runInWalletQueue: RunInLane
  /** A standby copy of an installation pays nothing. */
  isStandby: boolean
}

/** Confirmations after which a transaction is final; without new blocks, it is final after an hour. */
const FINAL_CONFIRMATIONS = 12
const FINAL_AFTER_MS = 3_600_000
/** A transaction not mined by then is `unknown`: it may still be. */
const EXPECTED_WITHIN_MS = 60_000
/** RPC nodes may disagree for a while, so a nonce counts as replaced only after this many checks. */
const LOOKS_UNTIL_REPLACED = 4
const FIRST_PAUSE_MS = 5000
const MAX_PAUSE_MS = 300_000
const FINALITY_PAUSE_MS = 30_000

/**
 * Advances a transfer by one step: signs, sends or checks it. Safe to call concurrently and repeatedly. The signed
 * transaction is stored before it is sent, so a crash resends the same one and the chain accepts it once. `takesOver`
 * means that the caller has disconnected: an unsent payment then fails unless it `keepsTrying`, because the caller may
 * have ordered it again.
 * @throws AppError `unavailable` in a standby copy, and when the chain cannot be reached before anything was sent,
 * which fails the payment.
 */
export async function advanceTransfer(deps: TransferDeps, id: string, takesOver = false): Promise<PaymentRow> {
  if (deps.isStandby) throw copyCannotPay()
  const { fromAddress, chainId } = getPayment(deps.db, id)
  return deps.runInWalletQueue(`${chainId}:${fromAddress}`, async () => {
    const payment = getPayment(deps.db, id)
    if (payment.kind !== 'transfer' || payment.status === 'denied') return payment
    if (payment.status === 'awaiting_approval') return payment
    if (payment.status !== 'created') return lookAfter(deps, payment)
    if (takesOver && !payment.keepsTrying) return fail(deps, payment, 'Interrupted before it was sent')
    const signed = await signOrFail(deps, payment)
    return signed.status === 'sent' ? send(deps, signed) : signed
  })
}

/**
 * Advances a payment until it has ended, for at most `waitMs`; then the job continues. @throws AppError as
 * `advanceTransfer`.
 */
export async function advanceUntilSettled(deps: TransferDeps, id: string, waitMs: number): Promise<PaymentRow> {
  const deadline = AbortSignal.timeout(waitMs)
  let payment = await advanceTransfer(deps, id)
  for (let pauseMs = 50; isUnderWay(payment) && !deadline.aborted; pauseMs = Math.min(1000, pauseMs * 2)) {
    await pause(pauseMs, deadline)
    payment = await advanceTransfer(deps, id)
  }
  return payment
}

function isUnderWay({ status }: PaymentRow): boolean {
  return status === 'sent' || status === 'unknown'
}

/** Nothing was sent yet, so any error fails the payment unless it `keepsTrying`. */
async function signOrFail(deps: TransferDeps, payment: PaymentRow): Promise<PaymentRow> {
  try {
    return await signAndKeep(deps, payment)
  } catch (error) {
    const isKnown = error instanceof AppError
    const isPassing = isKnown && (error.kind === 'unavailable' || error.kind === 'payment_required')
    if (payment.keepsTrying && isPassing)
      return changed(deps, payment, { reason: error.message, ...later(deps, payment) })
    const failed = await fail(deps, payment, isKnown ? error.message : 'It could not be signed')
    if (!isKnown || error.kind === 'unavailable') throw error
    return failed
  }
}

function fail(deps: TransferDeps, payment: PaymentRow, reason: string): Promise<PaymentRow> {
  return changed(deps, payment, { status: 'failed', reason, ...endedAt(deps.clock.now()) })
}

async function signAndKeep(deps: TransferDeps, payment: PaymentRow): Promise<PaymentRow> {
  const wallet = getWalletOf(deps.db, payment)
  const chain = getChain(deps, payment)
  chain.requireConfigured()
  const account = await openSigningAccount(deps, wallet)
  const nonce = await chooseNonce(deps.db, chain, wallet)
  const order = { to: toAddress(payment.recipient), amount: BigInt(payment.amountMicroUsd), nonce }
  const { raw, hash } = await chain.sign(account, order)
  const now = deps.clock.now()
  const signed = { nonce, rawTransaction: raw, transactionHash: hash }
  const sent = { status: 'sent', sentAt: now, reason: null, checks: 0, ...firstLook(now) } as const
  return write(deps.db, (tx) => {
    requireSendable(tx, deps, payment)
    return changeOrReread(tx, deps, payment, { ...signed, ...sent })
  })
}

function firstLook(now: Date): { checkAt: Date } {
  return { checkAt: new Date(now.getTime() + FIRST_PAUSE_MS) }
}

/** Returns the first nonce that neither the chain nor an open transaction uses. */
async function chooseNonce(db: Db, chain: TokenChain, { address }: WalletRow): Promise<number> {
  const next = await chain.readNextNonce(toAddress(address))
  const taken = new Set(listTakenNonces(db, chain.terms.chainId, address))
  let nonce = next
  while (taken.has(nonce)) nonce++
  return nonce
}

/** Sends the stored transaction. A rejection ends the payment; an unclear response leaves it `unknown`. */
async function send(deps: TransferDeps, payment: PaymentRow): Promise<PaymentRow> {
  const raw = payment.rawTransaction
  if (raw === null || isFrozen(deps.db, payment)) return payment
  try {
    const broadcast = await getChain(deps, payment).broadcast(`0x${raw.slice(2)}`)
    if (broadcast.isTaken) return await lookAfter(deps, payment)
    return await settleRefused(deps, payment, broadcast.reason)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return changed(deps, payment, { status: 'unknown', reason: error.message })
  }
}

/** Another node may have accepted what this one rejects, so the chain is asked. */
async function settleRefused(deps: TransferDeps, payment: PaymentRow, reason: string): Promise<PaymentRow> {
  const standing = await findStanding(deps, payment)
  if (standing.isMined) return settleMined(deps, payment, standing)
  return forget(deps, payment, reason)
}

/** Checks a transaction that may have been sent, and resends it when the chain does not have it. */
async function lookAfter(deps: TransferDeps, payment: PaymentRow): Promise<PaymentRow> {
  if (payment.finalAt !== null) return payment
  try {
    const standing = await findStanding(deps, payment)
    if (standing.isMined) return await settleMined(deps, payment, standing)
    return await settleMissing(deps, payment, standing)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const isOpen = payment.status === 'sent' || payment.status === 'unknown'
    return changed(deps, payment, {
      ...(isOpen && { status: 'unknown', reason: error.message }),
      ...(isDue(deps, payment) && later(deps, payment)),
    })
  }
}

type Mined = Extract<Standing, { isMined: true }>

async function settleMined(deps: TransferDeps, payment: PaymentRow, standing: Mined): Promise<PaymentRow> {
  const now = deps.clock.now()
  const settledAt = payment.settledAt ?? now
  const isOld = now.getTime() - settledAt.getTime() > FINAL_AFTER_MS
  const isFinal = standing.confirmations >= FINAL_CONFIRMATIONS || isOld
  return changed(deps, payment, {
    status: standing.hasPaid ? 'succeeded' : 'failed',
    reason: standing.hasPaid ? null : 'The transaction is on the chain and moved nothing',
    blockNumber: standing.blockNumber,
    blockHash: standing.blockHash,
    settledAt,
    ...(isFinal && { finalAt: now, rawTransaction: null }),
    checkAt: isFinal ? null : new Date(now.getTime() + FINALITY_PAUSE_MS),
  })
}

async function settleMissing(
  deps: TransferDeps,
  payment: PaymentRow,
  { nextNonce }: Extract<Standing, { isMined: false }>,
): Promise<PaymentRow> {
  if (payment.blockHash !== null) return send(deps, await markUndone(deps, payment))
  // Between checks of the job nothing is concluded: mining takes time.
  if (!isDue(deps, payment)) return payment
  const nonce = payment.nonce ?? 0
  if (nextNonce > nonce && payment.checks >= LOOKS_UNTIL_REPLACED) {
    return forget(deps, payment, 'Another transaction of this wallet took its place')
  }
  if (nextNonce <= nonce && payment.rawTransaction !== null && !isFrozen(deps.db, payment)) {
    await getChain(deps, payment).broadcast(`0x${payment.rawTransaction.slice(2)}`)
  }
  const isLate = deps.clock.now().getTime() - (payment.sentAt?.getTime() ?? 0) > EXPECTED_WITHIN_MS
  return changed(deps, payment, { ...(isLate && { status: 'unknown' }), ...later(deps, payment) })
}

/** Frees the nonce and deletes the signed transaction, so it can never be sent. */
function forget(deps: TransferDeps, payment: PaymentRow, reason: string): Promise<PaymentRow> {
  const ended = endedAt(deps.clock.now())
  return changed(deps, payment, { status: 'failed', reason, rawTransaction: null, nonce: null, ...ended })
}

/** Reopens a payment whose block was reverted, and records that. */
function markUndone(deps: TransferDeps, payment: PaymentRow): Promise<PaymentRow> {
  const now = deps.clock.now()
  const { id, transactionHash, blockNumber } = payment
  deps.log.warn({ payment: id, transactionHash, blockNumber }, 'the chain took back the block of a payment')
  const detail = { paymentId: id, transactionHash, blockNumber, was: payment.status }
  const reason = 'The chain took back the block that held this payment'
  const open = {
    status: 'unknown',
    reason,
    undoneAt: now,
    blockNumber: null,
    blockHash: null,
    settledAt: null,
  } as const
  return write(deps.db, (tx) => {
    recordAudit(tx, { actor: 'system', action: 'wallet.payment.undone', target: payment.walletId ?? id, detail }, now)
    return changeOrReread(tx, deps, payment, { ...open, ...firstLook(now) })
  })
}

function findStanding(deps: TransferDeps, payment: PaymentRow): Promise<Standing> {
  const { transactionHash, fromAddress, recipient, amountMicroUsd } = payment
  if (transactionHash === null || fromAddress === null) throw new Error(`Payment ${payment.id} was never signed`)
  return getChain(deps, payment).findStanding({
    hash: `0x${transactionHash.slice(2)}`,
    from: toAddress(fromAddress),
    to: toAddress(recipient),
    amount: BigInt(amountMicroUsd),
  })
}

/** Changes the payment unless its status has changed. @returns the current row. */
function changed(deps: TransferDeps, payment: PaymentRow, change: Partial<PaymentRow>): Promise<PaymentRow> {
  return write(deps.db, (tx) => changeOrReread(tx, deps, payment, change))
}

function later({ clock }: TransferDeps, { checks }: PaymentRow): Partial<PaymentRow> {
  return { checks: checks + 1, checkAt: nextCheck(clock.now(), checks) }
}

function isDue({ clock }: TransferDeps, { checkAt }: PaymentRow): boolean {
  return checkAt !== null && checkAt <= clock.now()
}

function nextCheck(now: Date, checks: number): Date {
  return new Date(now.getTime() + Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(checks, 10)))
}

function endedAt(now: Date): Partial<PaymentRow> {
  return { settledAt: now, finalAt: now, checkAt: null }
}

function getWalletOf(db: Db | Tx, { id, walletId }: PaymentRow): WalletRow {
  const wallet = db
    .select()
    .from(managedWallets)
    .where(eq(managedWallets.id, walletId ?? ''))
    .get()
  if (!wallet) throw new Error(`Payment ${id} has no wallet`)
  return wallet
}

/**
 * A transaction signed before the freeze may already be in a mempool, but is not broadcast again while the wallet is
 * frozen.
 */
function isFrozen(db: Db, payment: PaymentRow): boolean {
  return getWalletOf(db, payment).frozenAt !== null
}

function getChain({ tokenChains }: TransferDeps, { currency, chainId }: PaymentRow): TokenChain {
  const chain = Object.values(tokenChains).find(({ terms }) => terms.currency === currency && terms.chainId === chainId)
  if (!chain)
    throw new AppError('unavailable', `No chain is configured for ${currency} any more`, { code: 'NOT_CONFIGURED' })
  return chain
}

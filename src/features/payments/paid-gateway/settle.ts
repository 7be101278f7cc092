import { and, eq, lte } from 'drizzle-orm'
import type { ChainCharges, ShownSignature, SignedPayment } from '../../../adapters/payments/chain-charges.ts'
import type { Settler, SettlingTransaction } from '../../../adapters/payments/settler.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { pause, type RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { platformAccount } from '../ledger/accounts.ts'
import {
  deleteGatewayPayment,
  findGatewayPayment,
  holdPayment,
  insertGatewayPayment,
  paymentInUse,
  refundIfAbandoned,
  requireUnworked,
  takeHeld,
  updateGatewayPayment,
  type Work,
} from './payments.ts'
import { type GatewayPaymentRow, gatewayPayments } from './tables.ts'

/** A request waits this long for the chain; then the job or a retry continues. */
const WAIT_MS = 60_000
/** A payment without a stored transaction counts as abandoned after this time. */
const CHECK_AFTER_MS = 120_000
const EVERY_MS = 15_000
const MAX_PAUSE_MS = 300_000
const BATCH = 50

/**
 * Submits a signed payment to the chain, once. A transaction is stored before it is sent, and the chain is asked about
 * a stored one before anything is sent again, so a crash at any point pays once. `underWay` holds the payments in
 * progress in this process.
 * @returns the transaction hash.
 * @throws AppError `payment_required` PAYMENT_REFUSED, `unavailable` while the chain does not know the outcome,
 * `conflict` PAYMENT_IN_PROGRESS or PAYMENT_OF_OTHER_WORK {plugin}, and as `requireUnworked`.
 */
export function settleOnce(
  deps: Base & { chainCharges: ChainCharges },
  underWay: Set<string>,
  work: Work,
  payment: SignedPayment,
): Promise<string> {
  const id = toId(payment)
  return alone(underWay, id, async () => {
    await refundIfAbandoned(deps, id)
    return settleRow(deps, work, await findOrInsert(deps, id, work, payment))
  })
}

/**
 * Settles an expired signature that was shown before.
 * @returns the transaction hash, null for an unknown signature. @throws AppError as `settleOnce`.
 */
export async function settleShown(
  deps: Base & { chainCharges: ChainCharges },
  underWay: Set<string>,
  work: Work,
  shown: ShownSignature,
): Promise<string | null> {
  const id = toId(shown)
  const signed = findGatewayPayment(deps.db, id)?.authorization?.signature.toLowerCase()
  if (signed !== shown.signature.toLowerCase()) return null
  return alone(underWay, id, async () => {
    await refundIfAbandoned(deps, id)
    const row = findGatewayPayment(deps.db, id)
    return row ? settleRow(deps, work, row) : null
  })
}

/** Resumes the payment of an interrupted attempt. @throws AppError as `settleOnce`. */
export function settleAgain(
  deps: Base & { chainCharges: ChainCharges },
  underWay: Set<string>,
  work: Work,
  row: GatewayPaymentRow,
): Promise<string> {
  return alone(underWay, row.id, () => settleRow(deps, work, row))
}

export function toId({ payer, nonce }: Pick<SignedPayment, 'payer' | 'nonce'>): string {
  return `${payer}:${nonce}`
}

async function alone<T>(underWay: Set<string>, id: string, task: () => Promise<T>): Promise<T> {
  if (underWay.has(id)) throw paymentInUse()
  underWay.add(id)
  try {
    return await task()
  } finally {
    underWay.delete(id)
  }
}

async function settleRow(
  deps: Base & { chainCharges: ChainCharges },
  work: Work,
  row: GatewayPaymentRow,
): Promise<string> {
  const isSame = isOfThis(row, work)
  if (!isSame && row.state !== 'served' && row.state !== 'refunded') throw ofOtherWork(row)
  if (isSame && row.state === 'refunded') return toReference(await takeHeld(deps, row.id))
  if (row.state !== 'settling') requireUnworked(deps.db, row)
  return untilSettled(deps, row.id)
}

/** A payment must be shown with its original request: signatures on a chain are public. */
function isOfThis(row: GatewayPaymentRow, { plugin, requestHash }: Work): boolean {
  return row.plugin === plugin && (row.requestHash === null || row.requestHash === requestHash)
}

function findOrInsert(
  deps: Base,
  id: string,
  work: Work,
  { payer, amountMicros, protocol, authorization }: SignedPayment,
): Promise<GatewayPaymentRow> {
  const checkAt = new Date(deps.clock.now().getTime() + CHECK_AFTER_MS)
  const signed = { method: protocol, amountMicros, currency: 'USDC', payer, authorization, checkAt } as const
  return write(deps.db, (tx) => {
    const found = findGatewayPayment(tx, id)
    if (found) return found
    work.once.note(tx, id)
    return insertGatewayPayment(tx, deps, work, { id, ...signed, state: 'settling' })
  })
}

/** Signs at most once per call; sending the same transaction again is not needed. */
async function untilSettled(deps: Base & { chainCharges: ChainCharges }, id: string): Promise<string> {
  const settler = await deps.chainCharges.openSettler()
  const deadline = AbortSignal.timeout(WAIT_MS)
  let sent: string | null = null
  for (let pauseMs = 50; !deadline.aborted; pauseMs = Math.min(1000, pauseMs * 2)) {
    const { row, isReplaced } = await lookAfter(deps, settler, id)
    if (!row) throw refused()
    if (row.state !== 'settling') return toReference(row)
    if (sent === null || isReplaced) sent = await send(deps, settler, row, isReplaced)
    else await pause(pauseMs, deadline)
  }
  const message = 'The payment is not on the chain yet. Show the same one again in a moment.'
  throw new AppError('unavailable', message, { code: 'PAYMENT_UNKNOWN', retryAfter: '5' })
}

/**
 * Asks the chain for the outcome of a payment and posts it. @returns the row; undefined when the payment can no longer
 * succeed.
 */
async function lookAfter(
  deps: Base,
  settler: Settler,
  id: string,
): Promise<{ row: GatewayPaymentRow | undefined; isReplaced: boolean }> {
  const row = findGatewayPayment(deps.db, id)
  const transaction = row?.state === 'settling' ? toTransaction(row) : null
  if (!row?.authorization || !transaction) return { row, isReplaced: false }
  const outcome = await settler.findOutcome(row.authorization, transaction)
  if (outcome.state === 'open') return { row, isReplaced: outcome.isReplaced }
  return write(deps.db, (tx) => {
    // Another process may have found the outcome or sent another transaction.
    const now = findGatewayPayment(tx, id)
    if (now?.state === 'settling' && outcome.state === 'paid') {
      const { reference } = outcome
      updateGatewayPayment(tx, deps, id, { state: 'settled', reference, rawTransaction: null, checkAt: null })
      holdPayment(tx, deps, { ...row, reference }, platformAccount('chain', 'USDC'))
    } else if (now?.state === 'settling' && now.rawTransaction === row.rawTransaction) deleteGatewayPayment(tx, id)
    return { row: findGatewayPayment(tx, id), isReplaced: false }
  })
}

/** Sends the stored transaction; signs a new one when there is none or it can no longer be mined. */
function send(deps: Base, settler: Settler, row: GatewayPaymentRow, isReplaced: boolean): Promise<string> {
  return settler.inTurn(async () => {
    const raw = row.rawTransaction === null || isReplaced ? await signAndKeep(deps, settler, row) : row.rawTransaction
    await settler.broadcast(raw)
    return raw
  })
}

async function signAndKeep(deps: Base, settler: Settler, row: GatewayPaymentRow): Promise<string> {
  const { id, authorization, rawTransaction } = row
  if (!authorization) throw new AppError('internal', 'A payment was stored without what its payer signed')
  const isUnchanged = (now: GatewayPaymentRow | undefined) =>
    now?.state === 'settling' && now.rawTransaction === rawTransaction
  const signed = await settler.sign(authorization).catch(async (error: unknown) => {
    if (!(error instanceof AppError && error.kind === 'payment_required')) throw error
    // The earlier transaction may have paid, so only the chain can end the payment.
    if (rawTransaction !== null)
      throw new AppError('unavailable', 'The chain does not say yet what became of the payment')
    await write(deps.db, (tx) => {
      if (isUnchanged(findGatewayPayment(tx, id))) deleteGatewayPayment(tx, id)
    })
    throw error
  })
  await write(deps.db, (tx) => {
    if (!isUnchanged(findGatewayPayment(tx, id))) throw paymentInUse()
    const sinceBlock = row.sinceBlock ?? signed.sinceBlock
    updateGatewayPayment(tx, deps, id, { rawTransaction: signed.raw, reference: signed.hash, sinceBlock })
  })
  return signed.raw
}

/** Settles payments whose request was interrupted. */
export function gatewaySettlementsJob(deps: Base & { chainCharges: ChainCharges; isStandby: boolean }): RepeatingJob {
  return { name: 'gateway.settlements', everyMs: EVERY_MS, run: () => settleInterrupted(deps) }
}

/** Sends nothing: the client retries with its signature if it still wants the work. */
export async function settleInterrupted(
  deps: Base & { chainCharges: ChainCharges; isStandby: boolean },
): Promise<void> {
  if (deps.isStandby) return
  const isDue = and(eq(gatewayPayments.state, 'settling'), lte(gatewayPayments.checkAt, deps.clock.now()))
  const rows = deps.db.select().from(gatewayPayments).where(isDue).orderBy(gatewayPayments.checkAt).limit(BATCH).all()
  for (const row of rows) {
    try {
      await settleOne(deps, row)
    } catch (error) {
      deps.log.warn({ payment: row.id, error: errorMessage(error) }, 'cannot settle a payment')
    }
  }
}

async function settleOne(
  deps: Base & { chainCharges: ChainCharges },
  { id, checks, rawTransaction }: GatewayPaymentRow,
): Promise<void> {
  const pauseMs = Math.min(MAX_PAUSE_MS, EVERY_MS * 2 ** Math.min(checks, 5))
  const checkAt = new Date(deps.clock.now().getTime() + pauseMs)
  await write(deps.db, (tx) => {
    const row = findGatewayPayment(tx, id)
    if (row?.state !== 'settling') return
    // Nothing was sent; a request that is still signing finds the row gone before it sends.
    if (row.rawTransaction === null) deleteGatewayPayment(tx, id)
    else updateGatewayPayment(tx, deps, id, { checks: checks + 1, checkAt })
  })
  if (rawTransaction !== null) await lookAfter(deps, await deps.chainCharges.openSettler(), id)
}

function toTransaction({ rawTransaction, reference, sinceBlock }: GatewayPaymentRow): SettlingTransaction | null {
  if (rawTransaction === null || reference === null || sinceBlock === null) return null
  return { raw: rawTransaction, hash: reference, sinceBlock }
}

function toReference({ id, reference }: GatewayPaymentRow): string {
  if (reference === null) throw new AppError('internal', `The payment ${id} is settled without a transaction`)
  return reference
}

function refused(): AppError {
  return new AppError('payment_required', 'The payment failed on the chain', { code: 'PAYMENT_REFUSED' })
}

function ofOtherWork({ plugin }: GatewayPaymentRow): AppError {
  const message = `This payment is for another request, to ${plugin}: show it again with that`
  return new AppError('conflict', message, { code: 'PAYMENT_OF_OTHER_WORK', plugin })
}

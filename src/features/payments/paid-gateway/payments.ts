import { and, eq, inArray, lt } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newOrderedId } from '../../../core/ids.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once } from '../../../http/env.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { type Account, creditsOf, platformAccount } from '../ledger/accounts.ts'
import { countEntries, post, transfer } from '../ledger/post.ts'
import { noteRefund, writeReceipt } from '../receipts/receipts.ts'
import { receipts } from '../receipts/tables.ts'
import { type GatewayPaymentRow, gatewayPayments } from './tables.ts'

/** The requested work. `userId` is null without an account; `requestHash` distinguishes requests. */
export type Work = { plugin: string; what: string; userId: string | null; requestHash: string; once: Once }

/** Maximum duration of paid work. */
export const WORK_MS = 600_000
/** Longer than `WORK_MS`: work of this age was interrupted by a restart. */
const ABANDONED_MS = 900_000
const LOOK_MS = 60_000

/** Charges the price to a user's credits. @throws AppError `payment_required` INSUFFICIENT_FUNDS. */
export function payByCredits(
  deps: Base,
  work: Work & { userId: string },
  amountMicros: number,
): Promise<GatewayPaymentRow> {
  return write(deps.db, (tx) => {
    const row = insertGatewayPayment(tx, deps, work, {
      id: newOrderedId('gwp'),
      method: 'credits',
      amountMicros,
      currency: 'USD',
      payer: null,
      state: 'working',
    })
    holdPayment(tx, deps, row, creditsOf(work.userId))
    work.once.note(tx, toWorkedFor(row.id))
    return row
  })
}

/** Reserves a payment on chain for one request. @throws AppError as `requireUnworked`. */
export function claimPayment(deps: Base, id: string, { note }: Once): Promise<GatewayPaymentRow> {
  return write(deps.db, (tx) => {
    const row = getGatewayPayment(tx, id)
    requireUnworked(tx, row)
    updateGatewayPayment(tx, deps, id, { state: 'working' })
    note(tx, toWorkedFor(id))
    return row
  })
}

const WORKED_FOR = 'worked:'

/** The idempotency note of the one request that works for a payment; before that, the note is the payment's id. */
function toWorkedFor(id: string): string {
  return `${WORKED_FOR}${id}`
}

/**
 * Returns the payment of an earlier attempt of the same request. `isAtWork` when that attempt was working, or had
 * finished without sending its response. Null without one, and when it was refunded to credits: the request then pays
 * again.
 */
export function findPaid(db: Db, { made }: Once): { row: GatewayPaymentRow; isAtWork: boolean } | null {
  if (made === null) return null
  const isClaimed = made.startsWith(WORKED_FOR)
  const row = findGatewayPayment(db, isClaimed ? made.slice(WORKED_FOR.length) : made)
  if (!row || (row.state === 'refunded' && row.userId !== null)) return null
  return { row, isAtWork: isClaimed && (row.state === 'working' || row.state === 'served') }
}

/** Books the money as earned, once. @returns the id of the receipt. */
export function earnPayment(deps: Base, { id }: GatewayPaymentRow): Promise<string> {
  return write(deps.db, (tx) => {
    const row = getGatewayPayment(tx, id)
    if (row.state === 'served') return receiptOf(tx, id)
    if (row.state !== 'working') throw paymentUsed()
    updateGatewayPayment(tx, deps, id, { state: 'served' })
    const ends = { from: heldFor(row), to: platformAccount('sales', row.currency), amount: row.amountMicros }
    transfer(tx, deps, { cause: `gateway:${id}:earned`, memo: `${row.plugin} was done`, ...ends })
    return receiptOf(tx, id)
  })
}

/** Destination of a refund. */
type Refund = { to: 'credits' | 'payer'; amountMicros: number; currency: string; receipt: string }

/**
 * Refunds failed work to the user's credits, or holds the money for the paying address. One USDC equals one dollar of
 * credits.
 * @returns the destination.
 */
export function refundPayment(deps: Base, { id }: GatewayPaymentRow, reason: string): Promise<Refund> {
  return write(deps.db, (tx) => refundRow(tx, deps, getGatewayPayment(tx, id), reason))
}

function refundRow(tx: Tx, deps: { clock: Clock }, row: GatewayPaymentRow, reason: string): Refund {
  const { id, userId, amountMicros, currency } = row
  updateGatewayPayment(tx, deps, id, { state: 'refunded' })
  const receipt = receiptOf(tx, id)
  noteRefund(tx, receipt, amountMicros, reason)
  const lines = [{ account: heldFor(row), amount: -amountMicros }]
  if (userId === null) {
    lines.push({ account: heldForPayer(row), amount: amountMicros })
  } else {
    lines.push({ account: creditsOf(userId), amount: amountMicros })
    if (currency !== 'USD') {
      lines.push({ account: platformAccount('sales', currency), amount: amountMicros })
      lines.push({ account: platformAccount('sales', 'USD'), amount: -amountMicros })
    }
  }
  post(tx, deps, { cause: nextCause(tx, id), memo: `Refund: ${reason}`, lines })
  return { to: userId === null ? 'payer' : 'credits', amountMicros, currency, receipt }
}

/**
 * Uses the held money of an anonymous payer for another attempt, which is the only refund that needs no other party.
 * @throws AppError as `requireUnworked` when nothing is held.
 */
export function takeHeld(deps: Base, id: string): Promise<GatewayPaymentRow> {
  return write(deps.db, (tx) => {
    const row = getGatewayPayment(tx, id)
    if (row.state !== 'refunded' || row.userId !== null) {
      requireUnworked(tx, row)
      return row
    }
    updateGatewayPayment(tx, deps, id, { state: 'settled' })
    noteRefund(tx, receiptOf(tx, id), 0, null)
    const ends = { from: heldForPayer(row), to: heldFor(row), amount: row.amountMicros }
    transfer(tx, deps, { cause: nextCause(tx, id), memo: `Another attempt: ${row.what ?? row.plugin}`, ...ends })
    return row
  })
}

/** A payment can be refunded more than once; each refund is an entry of its own. */
function nextCause(tx: Tx, id: string): string {
  return `gateway:${id}:${countEntries(tx, `gateway:${id}`) + 1}`
}

/**
 * Requires a payment that no request has used and that was not refunded.
 * @throws AppError `payment_required` PAYMENT_USED, `conflict` PAYMENT_IN_PROGRESS or PAYMENT_REFUNDED {refund}.
 */
export function requireUnworked(db: Db, row: GatewayPaymentRow): void {
  if (row.state === 'served') throw paymentUsed()
  if (row.state === 'refunded') throw paymentRefunded(db, row)
  if (row.state !== 'settled') throw paymentInUse()
}

/** Refunds work that a restart interrupted or that no client came back for. */
export function gatewayRefundsJob(deps: Base): RepeatingJob {
  return { name: 'gateway.refunds', everyMs: LOOK_MS, run: () => refundAbandoned(deps) }
}

export async function refundAbandoned(deps: Base): Promise<void> {
  const before = new Date(deps.clock.now().getTime() - ABANDONED_MS)
  const isUnworked = inArray(gatewayPayments.state, ['working', 'settled'])
  const isAbandoned = and(isUnworked, lt(gatewayPayments.changedAt, before))
  const rows = deps.db.select().from(gatewayPayments).where(isAbandoned).all()
  for (const { id } of rows) await refundIfAbandoned(deps, id)
}

/** Refunds a payment whose work started or waited too long ago. */
export function refundIfAbandoned(deps: Base, id: string): Promise<void> {
  const before = new Date(deps.clock.now().getTime() - ABANDONED_MS)
  return write(deps.db, (tx) => {
    const row = findGatewayPayment(tx, id)
    const isUnworked = row?.state === 'working' || row?.state === 'settled'
    if (isUnworked && row.changedAt < before) refundRow(tx, deps, row, 'The work was cut off')
  })
}

/** Escrow of paid, unearned money. */
function heldFor({ id, currency }: Pick<GatewayPaymentRow, 'id' | 'currency'>): Account {
  return { kind: 'escrow', ownerId: `gateway:${id}`, currency }
}

/** Escrow of an address whose work failed. */
function heldForPayer({ payer, currency }: Pick<GatewayPaymentRow, 'payer' | 'currency'>): Account {
  return { kind: 'escrow', ownerId: `payer:${payer}`, currency }
}

/** Posts a payment into escrow and writes its receipt. */
export function holdPayment(tx: Tx, deps: { clock: Clock }, row: GatewayPaymentRow, from: Account): void {
  const what = row.what ?? row.plugin
  const { id, userId, method, amountMicros, currency, payer, reference } = row
  const cause = `gateway:${id}`
  transfer(tx, deps, { cause, memo: what, from, to: heldFor(row), amount: amountMicros })
  const paid = { userId, method, amountMicros, currency, payer, reference }
  writeReceipt(tx, { ...paid, cause, what, createdAt: deps.clock.now() })
}

function receiptOf(tx: Db, id: string): string {
  const row = tx
    .select({ id: receipts.id })
    .from(receipts)
    .where(eq(receipts.cause, `gateway:${id}`))
    .get()
  if (!row) throw new AppError('internal', 'A payment has no receipt')
  return row.id
}

export function insertGatewayPayment(
  tx: Tx,
  { clock }: { clock: Clock },
  { plugin, what, userId, requestHash }: Work,
  payment: Omit<typeof gatewayPayments.$inferInsert, 'plugin' | 'what' | 'userId' | 'requestHash' | 'changedAt'>,
): GatewayPaymentRow {
  return tx
    .insert(gatewayPayments)
    .values({ ...payment, plugin, what, userId, requestHash, changedAt: clock.now() })
    .returning()
    .get()
}

export function updateGatewayPayment(
  tx: Tx,
  { clock }: { clock: Clock },
  id: string,
  columns: Partial<Omit<GatewayPaymentRow, 'id' | 'changedAt'>>,
): void {
  tx.update(gatewayPayments)
    .set({ ...columns, changedAt: clock.now() })
    .where(eq(gatewayPayments.id, id))
    .run()
}

export function deleteGatewayPayment(tx: Tx, id: string): void {
  tx.delete(gatewayPayments).where(eq(gatewayPayments.id, id)).run()
}

export function findGatewayPayment(db: Db, id: string): GatewayPaymentRow | undefined {
  return db.select().from(gatewayPayments).where(eq(gatewayPayments.id, id)).get()
}

function getGatewayPayment(db: Db, id: string): GatewayPaymentRow {
  const row = findGatewayPayment(db, id)
  if (!row) throw paymentUsed()
  return row
}

function paymentUsed(): AppError {
  return new AppError('payment_required', 'This payment was used already', { code: 'PAYMENT_USED' })
}

export function paymentInUse(): AppError {
  return new AppError('conflict', 'This payment is being settled or worked for', {
    code: 'PAYMENT_IN_PROGRESS',
    retryAfter: '5',
  })
}

/** Returns where the money is and how the payer can use it. */
export function describeRefund(to: Refund['to']): string {
  if (to === 'credits') return 'It was refunded to your credits.'
  return 'It is held for the address that paid: show the same payment with the same request again, and the work is tried again for it.'
}

/** The payment was refunded: asking for another payment would hide where the money is. */
function paymentRefunded(db: Db, row: GatewayPaymentRow): AppError {
  const { id, userId, amountMicros, currency } = row
  const to = userId === null ? 'payer' : 'credits'
  const refund = { to, amount: formatMicroUsd(amountMicros, 2), currency, receiptId: receiptOf(db, id) }
  return new AppError('conflict', `This payment was refunded. ${describeRefund(to)}`, {
    code: 'PAYMENT_REFUNDED',
    refund,
  })
}

import { and, eq, or } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { shareOut } from '../../../core/money.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import { type Account, creditsOf } from '../ledger/accounts.ts'
import { post, transfer } from '../ledger/post.ts'
import { bookings } from '../underground/tables.ts'
import { bookingRules, type EscrowRow, escrows, type SplitRule } from './tables.ts'

export type BookingRow = typeof bookings.$inferSelect
/** Share of one recipient. */
export type Payout = { rule: SplitRule; amountMicroUsd: number }

/** Returns a booking of the user as payer or payee. @throws AppError `not_found`. */
export function getBooking(db: Db, userId: string, id: string): BookingRow {
  const isTheirs = and(eq(bookings.id, id), or(eq(bookings.payerId, userId), eq(bookings.payeeId, userId)))
  const booking = db.select().from(bookings).where(isTheirs).get()
  if (!booking) throw new AppError('not_found', 'Booking not found')
  return booking
}

export function findEscrow(db: Db, bookingId: string): EscrowRow | null {
  return db.select().from(escrows).where(eq(escrows.bookingId, bookingId)).get() ?? null
}

/**
 * Reserves the whole fee of a booking from the payer's credits, also before the other side accepts.
 * @throws AppError `not_found` unless the user is the payer, `conflict` when it was reserved or the booking was
 * declined, `invalid` for a booking without a fee, `payment_required` INSUFFICIENT_FUNDS.
 */
export function holdFee({ db, clock }: Base, userId: string, bookingId: string): Promise<EscrowRow> {
  return write(db, (tx) => {
    const booking = getBooking(tx, userId, bookingId)
    if (booking.payerId !== userId) throw new AppError('not_found', 'Booking not found')
    if (booking.status === 'declined') throw new AppError('conflict', 'This booking was declined')
    if (findEscrow(tx, bookingId)) throw new AppError('conflict', 'There is an escrow for this booking already')
    const amount = feeOf(booking)
    if (amount === 0) throw new AppError('invalid', 'This booking has no fee')
    const names = { cause: `escrow:${bookingId}:hold`, memo: `Escrow for ${booking.talentName}` }
    transfer(tx, { clock }, { ...names, from: creditsOf(userId), to: escrowOf(bookingId), amount })
    const row = { bookingId, payerId: userId, amountMicroUsd: amount, status: 'held', createdAt: clock.now() } as const
    return tx.insert(escrows).values(row).returning().get()
  })
}

/**
 * Pays out the reserved fee once: after the date by either side, without a date by the payer only.
 * @throws AppError `not_found`, `conflict` when the booking is not confirmed, nothing is reserved, or it is too early.
 */
export function releaseFee({ db, clock }: Base, userId: string, bookingId: string): Promise<Payout[]> {
  return write(db, (tx) => {
    const booking = getBooking(tx, userId, bookingId)
    const escrow = requireHeld(tx, bookingId)
    requireDue(booking, userId, clock.now())
    const payouts = divideFee(escrow.amountMicroUsd, listRules(tx, booking))
    const gains = payouts.map(({ rule, amountMicroUsd }) => ({
      account: creditsOf(rule.userId),
      amount: amountMicroUsd,
    }))
    const lines = [{ account: escrowOf(bookingId), amount: -escrow.amountMicroUsd }, ...gains]
    post(tx, { clock }, { cause: `escrow:${bookingId}:release`, memo: `Fee of ${booking.talentName}`, lines })
    end(tx, bookingId, 'released', clock.now())
    return payouts
  })
}

function divideFee(amountMicroUsd: number, rules: SplitRule[]): Payout[] {
  const shares = rules.map(({ shareMillionths }) => shareMillionths)
  const amounts = shareOut(amountMicroUsd, shares)
  return rules.map((rule, index) => ({ rule, amountMicroUsd: amounts[index] ?? 0 }))
}

/**
 * Returns the reserved fee to the payer: at any time by the payee, until confirmation by the payer.
 * @throws AppError `not_found`, `conflict` when nothing is reserved, `forbidden` for the payer of a confirmed booking.
 */
export function refundFee({ db, clock }: Base, userId: string, bookingId: string): Promise<EscrowRow> {
  return write(db, (tx) => {
    const booking = getBooking(tx, userId, bookingId)
    const escrow = requireHeld(tx, bookingId)
    // Without a payee, only the payer can return the fee.
    if (booking.payeeId !== userId && booking.payeeId !== null && booking.status === 'confirmed') {
      throw new AppError('forbidden', 'This booking is confirmed: only the payee can refund it')
    }
    if (escrow.payerId === null) throw new AppError('conflict', "The payer's account was deleted")
    const names = { cause: `escrow:${bookingId}:refund`, memo: `Escrow for ${booking.talentName} given back` }
    const to = creditsOf(escrow.payerId)
    transfer(tx, { clock }, { ...names, from: escrowOf(bookingId), to, amount: escrow.amountMicroUsd })
    return end(tx, bookingId, 'refunded', clock.now())
  })
}

/** Sets the payee's division of the fee until it is paid out. @throws AppError `not_found`, `conflict`. */
export function setRules({ db }: Base, userId: string, bookingId: string, rules: SplitRule[]): Promise<BookingRow> {
  return write(db, (tx) => {
    const booking = getBooking(tx, userId, bookingId)
    if (booking.payeeId !== userId) throw new AppError('not_found', 'Booking not found')
    const escrow = findEscrow(tx, bookingId)
    if (escrow && escrow.status !== 'held') throw new AppError('conflict', `This escrow is ${escrow.status} already`)
    tx.insert(bookingRules)
      .values({ bookingId, rules })
      .onConflictDoUpdate({ target: bookingRules.bookingId, set: { rules } })
      .run()
    return booking
  })
}

/**
 * Returns the division of the fee, by default all to the payee, who also gets the shares of deleted users.
 * @throws AppError `conflict` when the payee's account was deleted.
 */
export function listRules(db: Db, { id, payeeId, talentName }: BookingRow): SplitRule[] {
  if (payeeId === null) throw new AppError('conflict', "The payee's account was deleted")
  const rules = db.select().from(bookingRules).where(eq(bookingRules.bookingId, id)).get()?.rules
  if (rules) return rules.map((rule) => (isThere(db, rule.userId) ? rule : { ...rule, userId: payeeId }))
  return [{ userId: payeeId, address: '', shareMillionths: 1, role: 'artist', name: talentName }]
}

function isThere(db: Db, userId: string): boolean {
  return db.select({ id: users.id }).from(users).where(eq(users.id, userId)).get() !== undefined
}

export function feeOf({ guaranteeMicroUsd, backendMicroUsd }: BookingRow): number {
  return guaranteeMicroUsd + backendMicroUsd
}

function requireHeld(tx: Tx, bookingId: string): EscrowRow {
  const escrow = findEscrow(tx, bookingId)
  if (!escrow) throw new AppError('conflict', 'There is no escrow for this booking')
  if (escrow.status !== 'held') throw new AppError('conflict', `This escrow is ${escrow.status} already`)
  return escrow
}

function requireDue({ status, gigAt, payerId }: BookingRow, userId: string, now: Date): void {
  if (status !== 'confirmed') throw new AppError('conflict', 'This booking is not confirmed')
  if (gigAt === null && userId !== payerId) {
    throw new AppError('conflict', 'This booking has no date: only the payer can release the funds')
  }
  if (gigAt !== null && gigAt > now) {
    throw new AppError('conflict', `The funds are due at ${gigAt.toISOString()}`, { code: 'NOT_DUE' })
  }
}

function end(tx: Tx, bookingId: string, status: 'released' | 'refunded', endedAt: Date): EscrowRow {
  return tx.update(escrows).set({ status, endedAt }).where(eq(escrows.bookingId, bookingId)).returning().get()
}

function escrowOf(bookingId: string): Account {
  return { kind: 'escrow', ownerId: bookingId, currency: 'USD' }
}

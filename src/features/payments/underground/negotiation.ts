import { and, eq, or, type SQL } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Tx } from '../../../db/open.ts'
import { type Exchange, parsePayload } from './exchange.ts'
import { BookingAnswer, BookingOffer } from './schemas.ts'

import { bookings, events } from './tables.ts'

/**
 * What `BOOKING_*` does besides being delivered: an offer is kept, and the agent that it was made to may accept or decline it,
 * once. Other actions of this prefix are delivered only.
 * @throws AppError `invalid` for a payload that does not say what it takes, `not_found` for a booking that is not the two
 * agents', `conflict` for one that was answered.
 */
export function applyBooking(tx: Tx, exchange: Exchange): void {
  switch (exchange.message.action) {
    case 'BOOKING_OFFER':
      offer(tx, exchange)
      break
    case 'BOOKING_ACCEPT':
      answer(tx, exchange, 'confirmed')
      break
    case 'BOOKING_DECLINE':
      answer(tx, exchange, 'declined')
      break
  }
}

function offer(tx: Tx, exchange: Exchange): void {
  const { message, sender, recipient, now } = exchange
  const payload = parsePayload(BookingOffer, exchange)
  if (payload.deposit > payload.amount + payload.backend) {
    throw new AppError('invalid', 'payload.deposit must not be more than the whole')
  }
  const event = payload.eventId === undefined ? null : findOwnEvent(tx, sender.id, payload.eventId)
  tx.insert(bookings)
    .values({
      id: newId('bk'),
      messageId: message.messageId,
      payerId: sender.ownerId,
      payeeId: recipient.ownerId,
      offeringAgentId: sender.id,
      talentAgentId: recipient.id,
      eventId: event?.id ?? null,
      talentName: payload.talentName,
      venue: payload.venue ?? event?.venue ?? '',
      gigAt: payload.date ?? event?.eventDate ?? null,
      guaranteeMicroUsd: payload.amount,
      backendMicroUsd: payload.backend,
      depositMicroUsd: payload.deposit,
      status: 'offered',
      createdAt: now,
      updatedAt: now,
    })
    .run()
}

function findOwnEvent(tx: Tx, agentId: string, id: number) {
  const isOwn = and(eq(events.id, id), eq(events.localAgentId, agentId))
  const event = tx.select().from(events).where(isOwn).get()
  if (!event) throw new AppError('not_found', 'Event not found')
  return event
}

function answer(tx: Tx, exchange: Exchange, status: 'confirmed' | 'declined'): void {
  const { sender, recipient, now } = exchange
  const { bookingId } = parsePayload(BookingAnswer, exchange)
  const isTheirs: SQL | undefined = and(
    or(eq(bookings.id, bookingId), eq(bookings.messageId, bookingId)),
    eq(bookings.talentAgentId, sender.id),
    eq(bookings.offeringAgentId, recipient.id),
  )
  const booking = tx.select().from(bookings).where(isTheirs).get()
  if (!booking) throw new AppError('not_found', 'Booking not found')
  if (booking.status !== 'offered') throw new AppError('conflict', `This booking is ${booking.status} already`)
  tx.update(bookings).set({ status, updatedAt: now }).where(eq(bookings.id, booking.id)).run()
}

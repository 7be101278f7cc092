import { and, eq, or, type SQL } from 'drizzle-orm'
import type { ZodType } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Tx } from '../../../db/open.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import {
  AmplifyAnswer,
  AmplifyCompletion,
  AmplifyRequest,
  BookingAnswer,
  BookingOffer,
  type BusMessage,
} from './schemas.ts'
import { type AmplificationRow, amplifications, bookings, events } from './tables.ts'

/** A verified message with its sender and recipient. */
export type Exchange = { message: BusMessage; sender: AgentRow; recipient: AgentRow; now: Date }

/** Validates the payload for the message's action. @throws AppError `invalid`. */
function parsePayload<Payload>(schema: ZodType<Payload>, { message }: Exchange): Payload {
  const parsed = schema.safeParse(message.payload)
  if (parsed.success) return parsed.data
  throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'payload is not valid')
}

/**
 * Applies `BOOKING_*` actions: stores an offer; the offered agent may accept or decline it once. Other actions are only
 * delivered.
 * @throws AppError `invalid` for a malformed payload, `not_found` for a booking between other agents, `conflict` for an
 * answered one.
 */
export function applyBooking(tx: Tx, exchange: Exchange): void {
  switch (exchange.message.action) {
    case 'BOOKING_OFFER':
      offerBooking(tx, exchange)
      break
    case 'BOOKING_ACCEPT':
      answerBooking(tx, exchange, 'confirmed')
      break
    case 'BOOKING_DECLINE':
      answerBooking(tx, exchange, 'declined')
      break
  }
}

function offerBooking(tx: Tx, exchange: Exchange): void {
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

function answerBooking(tx: Tx, exchange: Exchange, status: 'confirmed' | 'declined'): void {
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

/**
 * Applies `AMPLIFY_*` actions: stores a request; the asked agent may accept or decline it, and reports completion.
 * Other actions are only delivered.
 * @throws AppError as `applyBooking`.
 */
export function applyAmplification(tx: Tx, exchange: Exchange): void {
  switch (exchange.message.action) {
    case 'AMPLIFY_REQUEST':
      requestCampaign(tx, exchange)
      break
    case 'AMPLIFY_ACCEPT':
      answerCampaign(tx, exchange, 'accepted')
      break
    case 'AMPLIFY_DECLINE':
      answerCampaign(tx, exchange, 'declined')
      break
    case 'AMPLIFY_COMPLETE':
      completeCampaign(tx, exchange)
      break
  }
}

function requestCampaign(tx: Tx, exchange: Exchange): void {
  const { message, sender, recipient, now } = exchange
  const { reward } = parsePayload(AmplifyRequest, exchange)
  tx.insert(amplifications)
    .values({
      id: newId('amp'),
      messageId: message.messageId,
      requestingAgentId: sender.id,
      partnerAgentId: recipient.id,
      rewardMicroUsd: reward,
      status: 'requested',
      createdAt: now,
      updatedAt: now,
    })
    .run()
}

function answerCampaign(tx: Tx, exchange: Exchange, status: 'accepted' | 'declined'): void {
  const { campaignId } = parsePayload(AmplifyAnswer, exchange)
  moveCampaign(tx, exchange, { campaignId, before: 'requested', change: { status } })
}

function completeCampaign(tx: Tx, exchange: Exchange): void {
  const { campaignId, postUrl } = parsePayload(AmplifyCompletion, exchange)
  moveCampaign(tx, exchange, { campaignId, before: 'accepted', change: { status: 'completed', postUrl } })
}

type CampaignStatus = AmplificationRow['status']
type CampaignStep = { campaignId: string; before: CampaignStatus; change: { status: CampaignStatus; postUrl?: string } }

function moveCampaign(
  tx: Tx,
  { sender, recipient, now }: Exchange,
  { campaignId, before, change }: CampaignStep,
): void {
  const isTheirs = and(
    or(eq(amplifications.id, campaignId), eq(amplifications.messageId, campaignId)),
    eq(amplifications.partnerAgentId, sender.id),
    eq(amplifications.requestingAgentId, recipient.id),
  )
  const row = tx.select().from(amplifications).where(isTheirs).get()
  if (!row) throw new AppError('not_found', 'Campaign not found')
  if (row.status !== before) throw new AppError('conflict', `This campaign is ${row.status} already`)
  tx.update(amplifications)
    .set({ ...change, updatedAt: now })
    .where(eq(amplifications.id, row.id))
    .run()
}

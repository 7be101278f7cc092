import { and, eq, or, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once } from '../../../http/env.ts'
import type { Base } from '../../base.ts'
import { creditsOf, platformAccount } from '../ledger/accounts.ts'
import { transfer } from '../ledger/post.ts'
import { type EventRow, events } from '../underground/tables.ts'
import { type TicketRow, tickets } from './tables.ts'

type Purchase = { eventId: number; email?: string | undefined }
/** Records the id in the transaction, so a retried request finds it. */
type Note = Once['note']

/**
 * Sells one ticket in one transaction: takes a seat, charges the buyer's credits, pays the organiser. Events of the
 * operator pay into sales.
 * @throws AppError `not_found` for a missing or past event, `conflict` SOLD_OUT, `payment_required` INSUFFICIENT_FUNDS.
 */
export function buyTicket({ db, clock }: Base, buyerId: string, purchase: Purchase, note: Note): Promise<TicketRow> {
  return write(db, (tx) => {
    const event = takePlace(tx, purchase.eventId, clock.now())
    const id = newId('tkt')
    note(tx, id)
    // Tickets for an organiser's own event are free.
    const priceMicroUsd = event.ownerId === buyerId ? 0 : event.ticketPriceMicroUsd
    const ticket = { id, buyerId, priceMicroUsd, email: purchase.email ?? null, createdAt: clock.now() }
    payOrganiser(tx, clock, event, ticket)
    return insertTicket(tx, event, ticket)
  })
}

type NewTicket = Pick<TicketRow, 'id' | 'priceMicroUsd' | 'email' | 'createdAt'> & { buyerId: string }

function payOrganiser(tx: Tx, clock: Clock, event: EventRow, { id, buyerId, priceMicroUsd: amount }: NewTicket): void {
  if (amount === 0) return
  const to = event.ownerId === null ? platformAccount('sales', 'USD') : creditsOf(event.ownerId)
  const names = { cause: `ticket:${id}:sale`, memo: `Ticket for ${event.name}` }
  transfer(tx, { clock }, { ...names, from: creditsOf(buyerId), to, amount })
}

function insertTicket(tx: Tx, { id, name, ownerId }: EventRow, ticket: NewTicket): TicketRow {
  const row = { ...ticket, eventId: id, eventName: name, organiserId: ownerId, status: 'valid' } as const
  return tx.insert(tickets).values(row).returning().get()
}

/**
 * Refunds a ticket and frees its seat, once: by the organiser at any time, by the buyer until the event begins.
 * @throws AppError `not_found` for other users, `conflict` when it was refunded or it is too late, `payment_required`
 * when the organiser's credits do not suffice.
 */
export function refundTicket({ db, clock }: Base, userId: string, id: string): Promise<TicketRow> {
  return write(db, (tx) => {
    const ticket = getTicket(tx, userId, id)
    if (ticket.status !== 'valid') throw new AppError('conflict', 'This ticket was already refunded')
    const isIts = eq(events.id, ticket.eventId ?? 0)
    const event = tx.select().from(events).where(isIts).get()
    if (ticket.organiserId !== userId && (!event || event.eventDate <= clock.now())) {
      throw new AppError('conflict', 'The event has begun: only its organiser can refund this ticket')
    }
    payBack(tx, clock, ticket)
    tx.update(events)
      .set({ ticketsSold: sql`${events.ticketsSold} - 1` })
      .where(isIts)
      .run()
    const change = { status: 'refunded', refundedAt: clock.now() } as const
    return tx.update(tickets).set(change).where(eq(tickets.id, id)).returning().get()
  })
}

/** Returns a ticket to its buyer or the organiser. @throws AppError `not_found` for other users. */
export function getTicket(db: Db, userId: string, id: string): TicketRow {
  const isTheirs = and(eq(tickets.id, id), or(eq(tickets.buyerId, userId), eq(tickets.organiserId, userId)))
  const ticket = db.select().from(tickets).where(isTheirs).get()
  if (!ticket) throw new AppError('not_found', 'Ticket not found')
  return ticket
}

function takePlace(tx: Tx, id: number, now: Date): EventRow {
  const event = tx.select().from(events).where(eq(events.id, id)).get()
  if (!event || event.eventDate <= now) throw new AppError('not_found', 'Event not found')
  if (event.ticketsSold >= event.totalTickets) {
    throw new AppError('conflict', 'This event is sold out', { code: 'SOLD_OUT' })
  }
  const ticketsSold = event.ticketsSold + 1
  return tx.update(events).set({ ticketsSold }).where(eq(events.id, id)).returning().get()
}

function payBack(
  tx: Tx,
  clock: Clock,
  { id, buyerId, organiserId, priceMicroUsd: amount, eventName }: TicketRow,
): void {
  if (amount === 0) return
  if (buyerId === null) throw new AppError('conflict', "The buyer's account was deleted")
  const from = organiserId === null ? platformAccount('sales', 'USD') : creditsOf(organiserId)
  const names = { cause: `ticket:${id}:refund`, memo: `Ticket for ${eventName} paid back` }
  transfer(tx, { clock }, { ...names, from, to: creditsOf(buyerId), amount })
}

import { and, asc, eq, gte, lt, lte, type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import { addDays } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/errors.ts'
import { formatMicroUsd, toUsd } from '../../../../core/money.ts'
import type { Base } from '../../../base.ts'
import type { TicketRow } from '../../settlement/tables.ts'
import { buyTicket, getTicket, refundTicket } from '../../settlement/tickets.ts'
import { createEvent } from '../../underground/events.ts'
import { amount, CreateEventRequest } from '../../underground/schemas.ts'
import { bookings, type EventRow, events } from '../../underground/tables.ts'
import { day, line, parseCall, type SkillCall } from './calls.ts'

/** Maximum number of events per search, the next ones first, so a search takes constant time. */
const SEARCHED = 2000
const FOUND = 50

type EventSearch = {
  /** Words that must all occur in the name, the description or the venue; with `inVenueOnly`, in the venue. */
  words: readonly string[]
  inVenueOnly: boolean
  maxPriceMicroUsd?: number | undefined
  minTickets?: number | undefined
  limit?: number
}

/** Searches upcoming events of all users, the next first: announced events are public. */
function searchComingEvents({ db, clock }: Base, search: EventSearch): EventRow[] {
  const coming = db
    .select({ id: events.id })
    .from(events)
    .where(gte(events.eventDate, clock.now()))
    .orderBy(asc(events.eventDate), asc(events.id))
    .limit(SEARCHED)
  return db
    .select()
    .from(events)
    .where(and(sql`${events.id} IN (${coming})`, ...toConditions(search)))
    .orderBy(asc(events.eventDate), asc(events.id))
    .limit(search.limit ?? FOUND)
    .all()
}

/** @throws AppError `not_found` for a missing or past event. */
function getComingEvent({ db, clock }: Base, id: number): EventRow {
  const isThis = and(eq(events.id, id), gte(events.eventDate, clock.now()))
  const row = db.select().from(events).where(isThis).get()
  if (!row) throw new AppError('not_found', 'Event not found')
  return row
}

/** Returns the public fields of an event. */
function toFoundEvent(row: EventRow) {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    venue: row.venue,
    date: row.eventDate.toISOString(),
    ticketPriceUsdc: formatMicroUsd(row.ticketPriceMicroUsd, row.pricePlaces),
    totalTickets: row.totalTickets,
    ticketsLeft: row.totalTickets - row.ticketsSold,
  }
}

function toConditions({ words, inVenueOnly, maxPriceMicroUsd, minTickets }: EventSearch): SQL[] {
  const text = inVenueOnly
    ? sql`${events.venue}`
    : sql`${events.name} || ' ' || ${events.description} || ' ' || ${events.venue}`
  return [
    ...words.map((word) => sql`instr(lower(${text}), ${word.toLowerCase()}) > 0`),
    ...(maxPriceMicroUsd === undefined ? [] : [lte(events.ticketPriceMicroUsd, maxPriceMicroUsd)]),
    ...(minTickets === undefined ? [] : [gte(events.totalTickets, minTickets)]),
  ]
}

/** Splits search fields into words. */
function toWords(...texts: (string | undefined)[]): string[] {
  return texts.flatMap((text) => (text ?? '').split(/\s+/)).filter(Boolean)
}

const ticketId = line('ticketId', 100)

const TicketingCall = z.discriminatedUnion(
  'action',
  [
    z.object({ action: z.literal('list') }),
    CreateEventRequest.extend({ action: z.literal('create') }),
    z.object({
      action: z.literal('purchase'),
      eventId: z.int('eventId must be the number of an event'),
      email: z.email('email must be an address').max(254).optional(),
      tier: line('tier', 100).optional(),
    }),
    z.object({ action: z.literal('check'), ticketId }),
    z.object({ action: z.literal('refund'), ticketId }),
  ],
  'Invalid action',
)

/** Runs an action of the ticketing skill. @throws AppError as the functions it calls. */
export async function useEventTicketing(deps: Base, { user, body, once }: SkillCall): Promise<object> {
  const call = parseCall(TicketingCall, body)
  switch (call.action) {
    case 'list':
      return { success: true, events: searchComingEvents(deps, { words: [], inVenueOnly: false }).map(toFoundEvent) }
    case 'create': {
      const { action: _, ...request } = call
      return { success: true, event: toFoundEvent(await createEvent(deps, { kind: 'user', user }, request)) }
    }
    case 'purchase': {
      const ticket = once.made
        ? getTicket(deps.db, user.id, once.made)
        : await buyTicket(deps, user.id, call, once.note)
      return toSale(ticket, call.tier)
    }
    case 'check': {
      const ticket = getTicket(deps.db, user.id, call.ticketId)
      return { success: true, valid: ticket.status === 'valid', ticket: toTicket(ticket) }
    }
    case 'refund': {
      const ticket = await refundTicket(deps, user.id, call.ticketId)
      return {
        success: true,
        refunded: formatMicroUsd(ticket.priceMicroUsd, 2),
        currency: 'USD',
        ticket: toTicket(ticket),
      }
    }
  }
}

/** The credits pay at once, so nothing is pending. */
function toSale(ticket: TicketRow, tier = 'general') {
  const amount = formatMicroUsd(ticket.priceMicroUsd, 2)
  const payment = { protocol: 'balance', amount, currency: 'USD', status: 'paid' }
  return { success: true, pending: false, ticket: { ...toTicket(ticket), tier }, payment }
}

function toTicket({ id, eventId, eventName, email, priceMicroUsd, status, createdAt }: TicketRow) {
  const price = toUsd(priceMicroUsd)
  return { id, eventId, event: eventName, email, price, currency: 'USD', status, boughtAt: createdAt.toISOString() }
}

const eventId = z.int('eventId must be the number of an event')

const FestivalCall = z.discriminatedUnion(
  'action',
  [
    z.object({
      action: z.literal('search'),
      query: line('query').optional(),
      genre: line('genre').optional(),
      country: line('country').optional(),
      maxPrice: amount('maxPrice').optional(),
    }),
    z.object({ action: z.literal('detail'), eventId }),
    z.object({ action: z.literal('lineup'), eventId }),
    z.object({
      action: z.literal('compare'),
      eventIds: z.array(eventId, 'eventIds must be a list of numbers').min(2, 'eventIds: two at least').max(10),
    }),
  ],
  'Invalid action',
)

/**
 * Runs an action of the festival finder: upcoming events and their lineups. @throws AppError `invalid`, `not_found`.
 */
export function useFestivalFinder(deps: Base, { body }: SkillCall): object {
  const call = parseCall(FestivalCall, body)
  switch (call.action) {
    case 'search': {
      const words = toWords(call.query, call.genre, call.country)
      const found = searchComingEvents(deps, { words, inVenueOnly: false, maxPriceMicroUsd: call.maxPrice })
      return { success: true, count: found.length, festivals: found.map(toFoundEvent) }
    }
    case 'detail':
      return { success: true, festival: toFoundEvent(getComingEvent(deps, call.eventId)) }
    case 'lineup':
      return {
        success: true,
        eventId: call.eventId,
        lineup: listLineup(deps, getComingEvent(deps, call.eventId).id),
      }
    case 'compare':
      return { success: true, festivals: call.eventIds.map((id) => toFoundEvent(getComingEvent(deps, id))) }
  }
}

function listLineup({ db }: Base, id: number): string[] {
  const isConfirmed = and(eq(bookings.eventId, id), eq(bookings.status, 'confirmed'))
  const rows = db
    .select({ name: bookings.talentName })
    .from(bookings)
    .where(isConfirmed)
    .orderBy(asc(bookings.createdAt))
    .limit(500)
    .all()
  return rows.map(({ name }) => name)
}

const LOOKED_AT = 500
const badCapacity = 'capacity must be a whole number'

const VenueCall = z.discriminatedUnion(
  'action',
  [
    z.object({
      action: z.literal('search'),
      city: line('city').optional(),
      query: line('query').optional(),
      type: line('type').optional(),
      capacity: z.int(badCapacity).min(0, badCapacity).optional(),
      maxPrice: amount('maxPrice').optional(),
    }),
    z.object({ action: z.literal('detail'), venue: line('venue', 300) }),
    z.object({ action: z.literal('availability'), venue: line('venue', 300), date: day('date') }),
  ],
  'Invalid action',
)

/**
 * Runs an action of the venue finder, which knows the venues of announced events. @throws AppError `invalid`,
 * `not_found`.
 */
export function useVenueFinder(deps: Base, { body }: SkillCall): object {
  const call = parseCall(VenueCall, body)
  switch (call.action) {
    case 'search': {
      const words = toWords(call.city, call.query, call.type)
      const search = { words, inVenueOnly: true, maxPriceMicroUsd: call.maxPrice, minTickets: call.capacity }
      const venues = toVenues(searchComingEvents(deps, { ...search, limit: LOOKED_AT }))
      return { success: true, count: venues.length, venues }
    }
    case 'detail': {
      const coming = listAt(deps, call.venue, deps.clock.now())
      const [venue] = toVenues(coming)
      if (!venue) throw new AppError('not_found', 'Venue not found')
      return { success: true, venue: { ...venue, events: coming.map(toFoundEvent) } }
    }
    case 'availability': {
      const begins = new Date(`${call.date}T00:00:00Z`)
      const announced = listAt(deps, call.venue, begins, addDays(begins, 1)).map(toFoundEvent)
      return { success: true, venue: call.venue, date: call.date, hasEvent: announced.length > 0, events: announced }
    }
  }
}

function listAt({ db }: Base, venue: string, from: Date, until?: Date): EventRow[] {
  const isThen = and(gte(events.eventDate, from), until && lt(events.eventDate, until), eq(events.venue, venue))
  return db.select().from(events).where(isThen).orderBy(asc(events.eventDate)).limit(LOOKED_AT).all()
}

/** In the order of their next events. `largestEvent` is the highest number of tickets of an event there. */
function toVenues(rows: EventRow[]) {
  return [...Map.groupBy(rows, ({ venue }) => venue)].map(([name, there]) => ({
    name,
    comingEvents: there.length,
    nextEvent: there[0]?.eventDate.toISOString() ?? null,
    largestEvent: Math.max(...there.map(({ totalTickets }) => totalTickets)),
    lowestPriceUsdc: formatMicroUsd(Math.min(...there.map(({ ticketPriceMicroUsd }) => ticketPriceMicroUsd)), 2),
  }))
}

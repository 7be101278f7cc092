import { and, asc, eq, gte, lte, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/errors.ts'
import { formatMicroUsd } from '../../../../core/money.ts'
import type { Db } from '../../../../db/open.ts'
import { type EventRow, events } from '../../underground/tables.ts'

type Deps = { db: Db; clock: Clock }

/** Events that are looked through, the next ones first: a search takes the same time however many there are. */
const SEARCHED = 2000
const FOUND = 50

export type EventSearch = {
  /** All of them occur in the name, the description or the venue; of a venue search in the venue. */
  words: readonly string[]
  inVenueOnly: boolean
  maxPriceMicroUsd?: number | undefined
  minTickets?: number | undefined
  limit?: number
}

/** Coming events of everybody on the platform, the next first: an event is announced to be found. */
export function searchComingEvents({ db, clock }: Deps, search: EventSearch): EventRow[] {
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

/** @throws AppError `not_found` for one that does not exist or is over. */
export function getComingEvent({ db, clock }: Deps, id: number): EventRow {
  const isThis = and(eq(events.id, id), gte(events.eventDate, clock.now()))
  const row = db.select().from(events).where(isThis).get()
  if (!row) throw new AppError('not_found', 'Event not found')
  return row
}

/** An event as those see it who look for one. */
export function toFoundEvent(row: EventRow) {
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

/** Words of a search field; none for nothing. */
export function toWords(...texts: (string | undefined)[]): string[] {
  return texts.flatMap((text) => (text ?? '').split(/\s+/)).filter(Boolean)
}

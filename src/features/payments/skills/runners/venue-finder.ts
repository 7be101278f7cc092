import { and, asc, eq, gte, lt } from 'drizzle-orm'
import { z } from 'zod'
import { addDays } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/errors.ts'
import { formatMicroUsd } from '../../../../core/money.ts'
import { amount } from '../../underground/schemas.ts'
import { type EventRow, events } from '../../underground/tables.ts'
import { day, line, parseCall, type RunnerDeps, type SkillCall } from './calls.ts'
import { searchComingEvents, toFoundEvent, toWords } from './coming-events.ts'

type Deps = Pick<RunnerDeps, 'db' | 'clock'>

const LOOKED_AT = 500
const badCapacity = 'capacity must be a whole number'

const Call = z.discriminatedUnion(
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

/** Venues, as far as events that are announced here tell of them. @throws AppError `invalid`, `not_found`. */
export function useVenueFinder(deps: Deps, { body }: SkillCall): object {
  const call = parseCall(Call, body)
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

function listAt({ db }: Deps, venue: string, from: Date, until?: Date): EventRow[] {
  const isThen = and(gte(events.eventDate, from), until && lt(events.eventDate, until), eq(events.venue, venue))
  return db.select().from(events).where(isThen).orderBy(asc(events.eventDate)).limit(LOOKED_AT).all()
}

/** In the order of their next events. `largestEvent` is the most tickets that one event there has. */
function toVenues(rows: EventRow[]) {
  return [...Map.groupBy(rows, ({ venue }) => venue)].map(([name, there]) => ({
    name,
    comingEvents: there.length,
    nextEvent: there[0]?.eventDate.toISOString() ?? null,
    largestEvent: Math.max(...there.map(({ totalTickets }) => totalTickets)),
    lowestPriceUsdc: formatMicroUsd(Math.min(...there.map(({ ticketPriceMicroUsd }) => ticketPriceMicroUsd)), 2),
  }))
}

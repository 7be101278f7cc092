import { and, asc, eq } from 'drizzle-orm'
import { z } from 'zod'
import { amount } from '../../underground/schemas.ts'
import { bookings } from '../../underground/tables.ts'
import { line, parseCall, type RunnerDeps, type SkillCall } from './calls.ts'
import { getComingEvent, searchComingEvents, toFoundEvent, toWords } from './coming-events.ts'

type Deps = Pick<RunnerDeps, 'db' | 'clock'>

const eventId = z.int('eventId must be the number of an event')

const Call = z.discriminatedUnion(
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

/** Coming events by words and price, and who is booked for them. @throws AppError `invalid`, `not_found`. */
export function useFestivalFinder(deps: Deps, { body }: SkillCall): object {
  const call = parseCall(Call, body)
  switch (call.action) {
    case 'search': {
      const words = toWords(call.query, call.genre, call.country)
      const found = searchComingEvents(deps, { words, inVenueOnly: false, maxPriceMicroUsd: call.maxPrice })
      return { success: true, count: found.length, festivals: found.map(toFoundEvent) }
    }
    case 'detail':
      return { success: true, festival: toFoundEvent(getComingEvent(deps, call.eventId)) }
    case 'lineup':
      return { success: true, eventId: call.eventId, lineup: listLineup(deps, getComingEvent(deps, call.eventId).id) }
    case 'compare':
      return { success: true, festivals: call.eventIds.map((id) => toFoundEvent(getComingEvent(deps, id))) }
  }
}

function listLineup({ db }: Deps, id: number): string[] {
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

import { and, asc, eq, gte, isNull } from 'drizzle-orm'
import { z } from 'zod'
import { AppError } from '../../../../core/errors.ts'
import { newId } from '../../../../core/ids.ts'
import { requireQuota } from '../../../../core/require-quota.ts'
import { countRows } from '../../../../db/count-rows.ts'
import { write } from '../../../../db/write.ts'
import type { Base } from '../../../base.ts'
import { type CalendarEntryRow, calendarEntries } from '../tables.ts'
import { day, line, parseCall, type SkillCall } from './calls.ts'

const MAX_ENTRIES = 1000

const Call = z.discriminatedUnion(
  'action',
  [
    z.object({ action: z.literal('list') }),
    z.object({ action: z.literal('upcoming') }),
    z.object({
      action: z.literal('schedule'),
      title: line('title'),
      date: day('date'),
      time: z.iso.time({ precision: -1, error: 'time must be like 20:30, in UTC' }).default('00:00'),
      channels: z
        .array(line('channels', 100), 'channels must be a list of texts')
        .max(20, 'channels: 20 at most')
        .default([]),
    }),
    z.object({ action: z.literal('cancel'), id: line('id', 100) }),
  ],
  'Invalid action',
)

/** Runs an action of the calendar skill. @throws AppError `invalid`, `not_found`, `limited`. */
export async function useEventScheduler(deps: Base, { user, body }: SkillCall): Promise<object> {
  const call = parseCall(Call, body)
  switch (call.action) {
    case 'list':
      return { success: true, events: listEntries(deps, user.id).map(toEntry) }
    case 'upcoming':
      return { success: true, events: listUpcoming(deps, user.id).map(toEntry) }
    case 'schedule':
      return { success: true, event: toEntry(await schedule(deps, user.id, call)) }
    case 'cancel':
      return { success: true, event: toEntry(await cancel(deps, user.id, call.id)) }
  }
}

function listEntries({ db }: Base, userId: string): CalendarEntryRow[] {
  return db
    .select()
    .from(calendarEntries)
    .where(eq(calendarEntries.userId, userId))
    .orderBy(asc(calendarEntries.startsAt))
    .all()
}

function listUpcoming({ db, clock }: Base, userId: string): CalendarEntryRow[] {
  const isComing = and(
    eq(calendarEntries.userId, userId),
    gte(calendarEntries.startsAt, clock.now()),
    isNull(calendarEntries.cancelledAt),
  )
  return db.select().from(calendarEntries).where(isComing).orderBy(asc(calendarEntries.startsAt)).limit(100).all()
}

type NewEntry = { title: string; date: string; time: string; channels: string[] }

function schedule({ db, clock }: Base, userId: string, entry: NewEntry): Promise<CalendarEntryRow> {
  const { title, date, time, channels } = entry
  const startsAt = new Date(`${date}T${time}:00Z`)
  return write(db, (tx) => {
    const current = countRows(tx, calendarEntries, eq(calendarEntries.userId, userId))
    const message = `The calendar holds ${MAX_ENTRIES} entries at most`
    requireQuota({ current, limit: MAX_ENTRIES, message, extra: {} })
    const row = { id: newId('cal'), userId, title, startsAt, channels, createdAt: clock.now() }
    return tx.insert(calendarEntries).values(row).returning().get()
  })
}

/** Cancelling again keeps the first time. */
function cancel({ db, clock }: Base, userId: string, id: string): Promise<CalendarEntryRow> {
  return write(db, (tx) => {
    const isThis = and(eq(calendarEntries.id, id), eq(calendarEntries.userId, userId))
    const row = tx.select().from(calendarEntries).where(isThis).get()
    if (!row) throw new AppError('not_found', 'Event not found')
    const cancelledAt = row.cancelledAt ?? clock.now()
    return tx.update(calendarEntries).set({ cancelledAt }).where(isThis).returning().get()
  })
}

function toEntry({ id, title, startsAt, channels, cancelledAt }: CalendarEntryRow) {
  const [date, time] = startsAt.toISOString().split('T')
  const status = cancelledAt === null ? 'scheduled' : 'cancelled'
  return { id, title, date, time: time?.slice(0, 5), startsAt: startsAt.toISOString(), channels, status }
}

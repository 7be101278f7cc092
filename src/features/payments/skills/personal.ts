import { eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { calendarEntries, installedSkills, ownSkills } from './tables.ts'

/** Skills that somebody brought. */
export const personalOwnSkills = wholeList('ownSkills', [ownSkills], (db, userId) =>
  db
    .select()
    .from(ownSkills)
    .where(eq(ownSkills.userId, userId))
    .all()
    .map(({ userId: _, ...skill }) => skill),
)

/** Which of their agents has which skill. */
export const personalInstalledSkills = wholeList('installedSkills', [installedSkills], (db, userId) =>
  db
    .select()
    .from(installedSkills)
    .where(eq(installedSkills.userId, userId))
    .all()
    .map(({ userId: _, ...skill }) => skill),
)

/** What stands in their calendar. */
export const personalCalendar = wholeList('calendar', [calendarEntries], (db, userId) =>
  db
    .select()
    .from(calendarEntries)
    .where(eq(calendarEntries.userId, userId))
    .all()
    .map(({ userId: _, ...entry }) => entry),
)

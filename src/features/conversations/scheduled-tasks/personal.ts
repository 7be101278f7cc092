import { eq } from 'drizzle-orm'
import { bytesOf, inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { scheduledRuns, scheduledTasks } from './tables.ts'

/** What agents are to do by the clock. */
export const personalScheduledTasks: PersonalList = {
  name: 'scheduledTasks',
  tables: [scheduledTasks],
  pages: (db, userId) =>
    inPages(db, {
      table: scheduledTasks,
      condition: eq(scheduledTasks.ownerId, userId),
      sizeBytes: bytesOf(scheduledTasks.prompt, scheduledTasks.description),
      read: (isOnPage) =>
        db
          .select()
          .from(scheduledTasks)
          .where(isOnPage)
          .all()
          .map(({ ownerId: _, ...task }) => task),
    }),
}

/** What became of it. */
export const personalScheduledRuns: PersonalList = {
  name: 'scheduledRuns',
  tables: [scheduledRuns],
  pages: (db, userId) =>
    inPages(db, {
      table: scheduledRuns,
      condition: eq(scheduledRuns.ownerId, userId),
      sizeBytes: bytesOf(scheduledRuns.prompt, scheduledRuns.error),
      read: (isOnPage) =>
        db
          .select()
          .from(scheduledRuns)
          .where(isOnPage)
          .all()
          .map(({ sequence: _, ownerId: __, ...run }) => run),
    }),
}

import { eq } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { callsInPages } from './call-pages.ts'
import { toolEvents, usageLogs } from './tables.ts'

/** Calls of models. */
export const personalUsage: PersonalList = {
  name: 'usage',
  tables: [usageLogs],
  *pages(db, userId, until) {
    const calls = callsInPages(db, userId, { from: new Date(0), until })
    for (const rows of calls) {
      yield rows.map(({ userId: _, isUnpriced, ...call }) => (isUnpriced ? { ...call, costMicroUsd: null } : call))
    }
  },
}

/** Tools that agents used. */
export const personalToolEvents: PersonalList = {
  name: 'toolEvents',
  tables: [toolEvents],
  pages: (db, userId) =>
    inPages(db, {
      table: toolEvents,
      condition: eq(toolEvents.userId, userId),
      read: (isOnPage) =>
        db
          .select()
          .from(toolEvents)
          .where(isOnPage)
          .all()
          .map(({ id: _, userId: __, ...event }) => event),
    }),
}

import { eq } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { sessions } from '../users/tables.ts'

const sessionColumns = {
  createdAt: sessions.createdAt,
  lastSeenAt: sessions.lastSeenAt,
  expiresAt: sessions.expiresAt,
  userAgent: sessions.userAgent,
  address: sessions.address,
}

/** Browsers that are signed in. */
export const personalSessions: PersonalList = {
  name: 'sessions',
  tables: [sessions],
  pages: (db, userId) =>
    inPages(db, {
      table: sessions,
      condition: eq(sessions.userId, userId),
      read: (isOnPage) => db.select(sessionColumns).from(sessions).where(isOnPage).all(),
    }),
}

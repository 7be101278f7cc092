import { eq } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { invites } from './tables.ts'

/** Invitations without their codes. */
export const personalInvites: PersonalList = {
  name: 'invites',
  tables: [invites],
  pages: (db, userId) =>
    inPages(db, {
      table: invites,
      condition: eq(invites.createdBy, userId),
      read: (isOnPage) =>
        db.select({ createdAt: invites.createdAt, usedAt: invites.usedAt }).from(invites).where(isOnPage).all(),
    }),
}

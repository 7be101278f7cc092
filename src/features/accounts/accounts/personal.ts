import { eq, type SQL } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { referrals } from '../users/tables.ts'

/** Who was brought, and by whom, without saying who. */
export const personalReferrals: PersonalList = {
  name: 'referrals',
  tables: [referrals],
  *pages(db, userId) {
    const show = ({ newUserId, credits, createdAt, creditedAt }: typeof referrals.$inferSelect) => ({
      wasReferred: newUserId === userId,
      credits,
      createdAt,
      creditedAt,
    })
    const read = (isOnPage: SQL | undefined) => db.select().from(referrals).where(isOnPage).all().map(show)
    yield read(eq(referrals.newUserId, userId))
    yield* inPages(db, { table: referrals, condition: eq(referrals.referrerId, userId), read })
  },
}

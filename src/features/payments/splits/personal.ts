import { eq } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import { type PersonalList, wholeList } from '../../../db/personal-data.ts'
import { listParts, toSplit } from './list-splits.ts'
import { royaltySplits, splitRules } from './tables.ts'

/** What somebody divided among others, and what each of them got. */
export const personalSplits: PersonalList = {
  name: 'splits',
  tables: [royaltySplits],
  pages: (db, userId) =>
    inPages(db, {
      table: royaltySplits,
      condition: eq(royaltySplits.ownerId, userId),
      read: (isOnPage) =>
        db
          .select()
          .from(royaltySplits)
          .where(isOnPage)
          .all()
          .map((split) => ({ ...toSplit(split), recipients: listParts(db, split.id) })),
    }),
}

/** How somebody divides what they split instantly. */
export const personalSplitRules = wholeList('splitRules', [splitRules], (db, userId) =>
  db
    .select()
    .from(splitRules)
    .where(eq(splitRules.userId, userId))
    .all()
    .map(({ userId: _, ...rule }) => rule),
)

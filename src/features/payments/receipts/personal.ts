import { eq } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { receipts } from './tables.ts'
import { toReceipt } from './write.ts'

/** Payments that somebody made. */
export const personalReceipts: PersonalList = {
  name: 'receipts',
  tables: [receipts],
  pages: (db, userId) =>
    inPages(db, {
      table: receipts,
      condition: eq(receipts.userId, userId),
      read: (isOnPage) => db.select().from(receipts).where(isOnPage).all().map(toReceipt),
    }),
}

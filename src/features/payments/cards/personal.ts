import { asc, eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { cardCustomers, cardSubscriptions } from './tables.ts'

/** By which name the card service knows somebody, and what was subscribed to there. */
export const personalSubscriptions = wholeList(
  'cardSubscriptions',
  [cardCustomers, cardSubscriptions],
  (db, userId) => {
    const customer = db.select().from(cardCustomers).where(eq(cardCustomers.userId, userId)).get()
    const rows = db
      .select()
      .from(cardSubscriptions)
      .where(eq(cardSubscriptions.userId, userId))
      .orderBy(asc(cardSubscriptions.createdAt))
      .all()
    return rows.map(({ userId: _, ...row }) => ({ ...row, customerId: customer?.customerId ?? null }))
  },
)

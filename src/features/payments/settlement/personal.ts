import { eq } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { escrows, tickets } from './tables.ts'

/** What somebody put aside for bookings. */
export const personalEscrows: PersonalList = {
  name: 'escrows',
  tables: [escrows],
  pages: (db, userId) =>
    inPages(db, {
      table: escrows,
      condition: eq(escrows.payerId, userId),
      read: (isOnPage) =>
        db
          .select()
          .from(escrows)
          .where(isOnPage)
          .all()
          .map(({ payerId: _, ...escrow }) => escrow),
    }),
}

/** Tickets that somebody bought. */
export const personalTickets: PersonalList = {
  name: 'tickets',
  tables: [tickets],
  pages: (db, userId) =>
    inPages(db, {
      table: tickets,
      condition: eq(tickets.buyerId, userId),
      read: (isOnPage) =>
        db
          .select()
          .from(tickets)
          .where(isOnPage)
          .all()
          .map(({ buyerId: _, organiserId: __, ...ticket }) => ticket),
    }),
}

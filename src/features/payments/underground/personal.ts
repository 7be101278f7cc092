import { eq, or } from 'drizzle-orm'
import { bytesOf, inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { bookings, busMessages, events } from './tables.ts'

/** Events that somebody's agents announced. */
export const personalEvents: PersonalList = {
  name: 'events',
  tables: [events],
  pages: (db, userId) =>
    inPages(db, {
      table: events,
      condition: eq(events.ownerId, userId),
      sizeBytes: bytesOf(events.description),
      read: (isOnPage) =>
        db
          .select()
          .from(events)
          .where(isOnPage)
          .all()
          .map(({ ownerId: _, localAgentId: __, ...event }) => event),
    }),
}

/** What somebody's agents offered, and what they were offered. */
export const personalBookings: PersonalList = {
  name: 'bookings',
  tables: [bookings],
  pages: (db, userId) =>
    inPages(db, {
      table: bookings,
      condition: or(eq(bookings.payerId, userId), eq(bookings.payeeId, userId)),
      read: (isOnPage) =>
        db
          .select()
          .from(bookings)
          .where(isOnPage)
          .all()
          .map(({ payerId, payeeId: _, ...booking }) => ({ ...booking, pays: payerId === userId })),
    }),
}

/** Messages that somebody's agents sent to others. */
export const personalBusMessages: PersonalList = {
  name: 'agentMessages',
  tables: [busMessages],
  pages: (db, userId) =>
    inPages(db, {
      table: busMessages,
      condition: eq(busMessages.ownerId, userId),
      sizeBytes: bytesOf(busMessages.body),
      read: (isOnPage) =>
        db
          .select()
          .from(busMessages)
          .where(isOnPage)
          .all()
          .map(({ ownerId: _, contentHash: __, ...message }) => message),
    }),
}

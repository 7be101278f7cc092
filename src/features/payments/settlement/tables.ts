import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { bookings, events } from '../underground/tables.ts'

const ESCROW_STATES = ['held', 'released', 'refunded'] as const
const TICKET_STATES = ['valid', 'refunded'] as const

/** How the fee of a booking is divided: the account behind an address, their percentage in millionths, and who they are. */
export type SplitRule = { userId: string; address: string; shareMillionths: number; role: string; name: string }

/**
 * The fee of a booking, held on the ledger until it is paid out or given back; both happen once. `splitRules` are those of
 * whoever is paid, who gets everything when there are none.
 */
export const escrows = sqliteTable(
  'escrows',
  {
    bookingId: text()
      .primaryKey()
      .references(() => bookings.id),
    payerId: text().references(() => users.id, { onDelete: 'set null' }),
    amountMicroUsd: integer().notNull(),
    status: text({ enum: ESCROW_STATES }).notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    endedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('escrows_by_payer').on(table.payerId),
    oneOf('escrows_status', table.status, ESCROW_STATES),
    check('escrows_positive', sql`${table.amountMicroUsd} > 0`),
  ],
)
export type EscrowRow = typeof escrows.$inferSelect

/** How whoever is paid for a booking wants it divided. */
export const bookingRules = sqliteTable('booking_rules', {
  bookingId: text()
    .primaryKey()
    .references(() => bookings.id, { onDelete: 'cascade' }),
  rules: text({ mode: 'json' }).$type<SplitRule[]>().notNull(),
})

/** Tickets that were sold. `organiserId` was paid; the name of the event stays when the event is gone. */
export const tickets = sqliteTable(
  'tickets',
  {
    id: text().primaryKey(),
    eventId: integer().references(() => events.id, { onDelete: 'set null' }),
    eventName: text().notNull(),
    buyerId: text().references(() => users.id, { onDelete: 'set null' }),
    organiserId: text().references(() => users.id, { onDelete: 'set null' }),
    email: text(),
    priceMicroUsd: integer().notNull(),
    status: text({ enum: TICKET_STATES }).notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    refundedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('tickets_by_event').on(table.eventId),
    index('tickets_by_buyer').on(table.buyerId, table.createdAt),
    index('tickets_by_organiser').on(table.organiserId),
    oneOf('tickets_status', table.status, TICKET_STATES),
  ],
)
export type TicketRow = typeof tickets.$inferSelect

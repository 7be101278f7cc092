import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { bookings, events } from '../underground/tables.ts'

const ESCROW_STATES = ['held', 'released', 'refunded'] as const
const TICKET_STATES = ['valid', 'refunded'] as const

/** One share of a fee: the account of an address, its share, and the recipient's role and name. */
export type SplitRule = { userId: string; address: string; shareMillionths: number; role: string; name: string }

/** Fee of a booking, held on the ledger until it is paid out or returned, each once. */
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

/** The payee's division of a booking's fee. */
export const bookingRules = sqliteTable('booking_rules', {
  bookingId: text()
    .primaryKey()
    .references(() => bookings.id, { onDelete: 'cascade' }),
  rules: text({ mode: 'json' }).$type<SplitRule[]>().notNull(),
})

/** Sold tickets. `organiserId` was paid; `eventName` survives the event. */
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

import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'

const MESSAGE_STATES = ['pending', 'delivered', 'dead'] as const
const BOOKING_STATES = ['offered', 'confirmed', 'declined'] as const
const AMPLIFICATION_STATES = ['requested', 'accepted', 'declined', 'completed'] as const

/**
 * Events of agents. `ownerId` is the agent's owner, null for the operator's. `agentId` is the announcer's name of the
 * agent; `localAgentId` is its row here, null for an agent elsewhere. The price is in micro-dollars; `pricePlaces`
 * keeps the decimals as they were entered.
 */
export const events = sqliteTable(
  'underground_events',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    ownerId: text().references(() => users.id, { onDelete: 'cascade' }),
    agentId: text().notNull(),
    localAgentId: text().references(() => agents.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    description: text().notNull(),
    venue: text().notNull(),
    eventDate: integer({ mode: 'timestamp_ms' }).notNull(),
    ticketPriceMicroUsd: integer().notNull(),
    pricePlaces: integer().notNull(),
    totalTickets: integer().notNull(),
    ticketsSold: integer().notNull().default(0),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('underground_events_by_date').on(table.eventDate, table.id),
    index('underground_events_by_owner').on(table.ownerId, table.eventDate, table.id),
    index('underground_events_by_agent').on(table.localAgentId),
    check('underground_events_price', sql`${table.ticketPriceMicroUsd} >= 0`),
    check('underground_events_tickets', sql`${table.ticketsSold} BETWEEN 0 AND ${table.totalTickets}`),
  ],
)
export type EventRow = typeof events.$inferSelect

/**
 * Signed messages between agents, and the outbox of their delivery. `body` is the message as sent; `contentHash`
 * detects another message with the same id. `ownerId` owns the sending agent. Dead messages are delivered only when an
 * admin replays them.
 */
export const busMessages = sqliteTable(
  'bus_messages',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    ownerId: text().references(() => users.id, { onDelete: 'cascade' }),
    fromAgentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    toAgentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    messageId: text().notNull(),
    action: text().notNull(),
    version: text().notNull(),
    body: text().notNull(),
    contentHash: text().notNull(),
    status: text({ enum: MESSAGE_STATES }).notNull(),
    attempts: integer().notNull().default(0),
    lastError: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    deliveredAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    uniqueIndex('bus_messages_by_sender').on(table.fromAgentId, table.messageId),
    index('bus_messages_by_owner').on(table.ownerId, table.createdAt),
    index('bus_messages_by_recipient').on(table.toAgentId),
    index('bus_messages_by_status').on(table.status, table.id),
    index('bus_messages_by_time').on(table.createdAt),
    oneOf('bus_messages_status', table.status, MESSAGE_STATES),
  ],
)
export type BusMessageRow = typeof busMessages.$inferSelect

/**
 * Offers of one agent to book another's talent, negotiated with `BOOKING_*`. `payerId` owns the offering agent,
 * `payeeId` the other; both know the booking by `messageId`. The guarantee is always paid, the backend on top; the
 * deposit is the part due in advance.
 */
export const bookings = sqliteTable(
  'bookings',
  {
    id: text().primaryKey(),
    messageId: text().notNull(),
    payerId: text().references(() => users.id, { onDelete: 'set null' }),
    payeeId: text().references(() => users.id, { onDelete: 'set null' }),
    offeringAgentId: text().references(() => agents.id, { onDelete: 'set null' }),
    talentAgentId: text().references(() => agents.id, { onDelete: 'set null' }),
    eventId: integer().references(() => events.id, { onDelete: 'set null' }),
    talentName: text().notNull(),
    venue: text().notNull(),
    gigAt: integer({ mode: 'timestamp_ms' }),
    guaranteeMicroUsd: integer().notNull(),
    backendMicroUsd: integer().notNull(),
    depositMicroUsd: integer().notNull(),
    status: text({ enum: BOOKING_STATES }).notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    uniqueIndex('bookings_by_message').on(table.offeringAgentId, table.messageId),
    index('bookings_by_payer').on(table.payerId, table.createdAt),
    index('bookings_by_payee').on(table.payeeId, table.createdAt),
    index('bookings_by_talent').on(table.talentAgentId),
    index('bookings_by_event').on(table.eventId),
    oneOf('bookings_status', table.status, BOOKING_STATES),
    check(
      'bookings_amounts',
      sql`min(${table.guaranteeMicroUsd}, ${table.backendMicroUsd}, ${table.depositMicroUsd}) >= 0`,
    ),
  ],
)

/**
 * Requests between agents to promote something for a reward, negotiated with `AMPLIFY_*`. `messageId` is the request's.
 */
export const amplifications = sqliteTable(
  'amplifications',
  {
    id: text().primaryKey(),
    messageId: text().notNull(),
    requestingAgentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    partnerAgentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    rewardMicroUsd: integer().notNull(),
    status: text({ enum: AMPLIFICATION_STATES }).notNull(),
    postUrl: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    uniqueIndex('amplifications_by_message').on(table.requestingAgentId, table.messageId),
    index('amplifications_by_partner').on(table.partnerAgentId),
    oneOf('amplifications_status', table.status, AMPLIFICATION_STATES),
    check('amplifications_reward', sql`${table.rewardMicroUsd} >= 0`),
  ],
)
export type AmplificationRow = typeof amplifications.$inferSelect

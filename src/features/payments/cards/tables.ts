import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { PLAN_NAMES } from '../../accounts/plans/plans.ts'
import { users } from '../../accounts/users/tables.ts'

const PURPOSES = ['plan', 'storage'] as const
const STATES = ['active', 'past_due', 'ended'] as const

/** The customer id of an account at the card service. */
export const cardCustomers = sqliteTable('card_customers', {
  userId: text()
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  customerId: text().notNull().unique(),
  createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
})

/**
 * One row per card subscription, as of its newest event, which happened at `lastEventAt`. `plan` is null for storage.
 * `replacedBy` is the subscription that is kept when two plans were paid; this one is being ended.
 * An unpaid subscription counts until `graceEndsAt`. An ended one never resumes.
 */
export const cardSubscriptions = sqliteTable(
  'card_subscriptions',
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    purpose: text({ enum: PURPOSES }).notNull(),
    plan: text({ enum: PLAN_NAMES }),
    state: text({ enum: STATES }).notNull(),
    isEnding: integer({ mode: 'boolean' }).notNull(),
    paidUntil: integer({ mode: 'timestamp_ms' }),
    pastDueSince: integer({ mode: 'timestamp_ms' }),
    graceEndsAt: integer({ mode: 'timestamp_ms' }),
    replacedBy: text(),
    lastEventAt: integer('told_at', { mode: 'timestamp_ms' }).notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('card_subscriptions_by_user').on(table.userId),
    index('card_subscriptions_by_grace').on(table.graceEndsAt),
    oneOf('card_subscriptions_purpose', table.purpose, PURPOSES),
    oneOf('card_subscriptions_state', table.state, STATES),
    oneOf('card_subscriptions_plan', table.plan, PLAN_NAMES),
  ],
)
export type CardSubscriptionRow = typeof cardSubscriptions.$inferSelect

/** Events of the card service by its ids; each is processed once. `outcome` says what it changed. */
export const cardEvents = sqliteTable(
  'card_events',
  {
    id: text().primaryKey(),
    type: text().notNull(),
    outcome: text().notNull(),
    receivedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('card_events_by_time').on(table.receivedAt)],
)

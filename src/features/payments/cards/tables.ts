import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { PLAN_NAMES } from '../../accounts/plans/plans.ts'
import { users } from '../../accounts/users/tables.ts'

const PURPOSES = ['plan', 'storage'] as const
const STATES = ['active', 'past_due', 'ended'] as const

/** By which name the card service knows an account. */
export const cardCustomers = sqliteTable('card_customers', {
  userId: text()
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  customerId: text().notNull().unique(),
  createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
})

/**
 * One row per subscription that is or was paid by card, as the newest event tells: `toldAt` is when that happened at the card
 * service. `plan` is null for storage. `replacedBy` is the other
 * subscription of the user that goes on when two plans were paid: this one is being ended. After `graceEndsAt` a subscription that is not paid counts no more. What has ended
 * never begins again.
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

/** Events of the card service by its own ids: each is acted on once. `outcome` says what it did. */
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

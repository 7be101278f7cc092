import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../db/checks.ts'

const PLANS = ['free', 'solo', 'collective', 'label', 'network'] as const
const SUBSCRIPTION_STATUSES = ['inactive', 'active', 'past_due', 'canceled'] as const

/** One row per account. `email` is lower case; `passwordHash` is null for accounts that sign in elsewhere. */
export const users = sqliteTable(
  'users',
  {
    id: text().primaryKey(),
    email: text().notNull().unique(),
    name: text().notNull(),
    passwordHash: text(),
    plan: text({ enum: PLANS }).notNull().default('free'),
    subscriptionStatus: text({ enum: SUBSCRIPTION_STATUSES }).notNull().default('inactive'),
    subscriptionId: text(),
    credits: integer().notNull().default(0),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    check('users_email_is_lower_case', sql`${table.email} = lower(${table.email})`),
    oneOf('users_plan', table.plan, PLANS),
    oneOf('users_subscription_status', table.subscriptionStatus, SUBSCRIPTION_STATUSES),
  ],
)
export type UserRow = typeof users.$inferSelect

/** One row per signed-in browser. The token itself is nowhere but in its cookie. */
export const sessions = sqliteTable(
  'sessions',
  {
    tokenHash: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    expiresAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('sessions_by_user').on(table.userId), index('sessions_by_expiry').on(table.expiresAt)],
)

import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'

const SUBSCRIPTION_STATUSES = ['inactive', 'active', 'past_due', 'canceled'] as const
const EMAIL_TOKEN_PURPOSES = ['reset-password', 'verify-email', 'change-email'] as const

/**
 * One row per account. `email` is lower case; `passwordHash` is null for accounts that sign in elsewhere.
 * `twoFactorSecret` is sealed and counts only once `twoFactorEnabledAt` is set. `isAdmin` is what the first account at home
 * gets and `stead user set-admin` gives; `ADMIN_EMAILS` names admins besides.
 */
export const users = sqliteTable(
  'users',
  {
    id: text().primaryKey(),
    email: text().notNull().unique(),
    name: text().notNull(),
    passwordHash: text(),
    isAdmin: integer({ mode: 'boolean' }).notNull().default(false),
    /** A plan of the interface, one of the operator's, or `free` for none. */
    plan: text().notNull().default('free'),
    subscriptionStatus: text({ enum: SUBSCRIPTION_STATUSES }).notNull().default('inactive'),
    subscriptionId: text(),
    credits: integer().notNull().default(0),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    emailVerifiedAt: integer({ mode: 'timestamp_ms' }),
    notifications: text({ mode: 'json' }).notNull().default({}),
    /** IANA name; null until the browser has reported it. */
    timeZone: text(),
    referralCode: text().unique(),
    twoFactorSecret: text(),
    twoFactorEnabledAt: integer({ mode: 'timestamp_ms' }),
    /** The last time step a code was accepted for: each code works once (RFC 6238, 5.2). */
    twoFactorStep: integer().notNull().default(0),
    disabledAt: integer({ mode: 'timestamp_ms' }),
    externalSignInDisabledAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('users_by_time').on(table.createdAt, table.id),
    check('users_email_is_lower_case', sql`${table.email} = lower(${table.email})`),
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
    lastSeenAt: integer({ mode: 'timestamp_ms' }),
    userAgent: text(),
    address: text(),
  },
  (table) => [index('sessions_by_user').on(table.userId), index('sessions_by_expiry').on(table.expiresAt)],
)
export type SessionRow = typeof sessions.$inferSelect

/** Links that were mailed: only the hash of each, valid once, until it expires or a later one replaces it. */
export const emailTokens = sqliteTable(
  'email_tokens',
  {
    tokenHash: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    purpose: text({ enum: EMAIL_TOKEN_PURPOSES }).notNull(),
    /** The address that the link proves; for `change-email` the new one. */
    email: text().notNull(),
    expiresAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('email_tokens_by_user').on(table.userId),
    index('email_tokens_by_expiry').on(table.expiresAt),
    oneOf('email_tokens_purpose', table.purpose, EMAIL_TOKEN_PURPOSES),
  ],
)

/** Recovery codes for two-factor sign-in, by hash; a used one is deleted. */
export const recoveryCodes = sqliteTable(
  'recovery_codes',
  {
    codeHash: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
  },
  (table) => [index('recovery_codes_by_user').on(table.userId)],
)

/**
 * One row per referred user, so that credit is given once: at `creditedAt`, null until they prove their address or pay. No
 * foreign key to the referrer, who may leave.
 */
export const referrals = sqliteTable(
  'referrals',
  {
    newUserId: text()
      .primaryKey()
      .references(() => users.id, { onDelete: 'cascade' }),
    referrerId: text().notNull(),
    credits: integer().notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    creditedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [index('referrals_by_referrer').on(table.referrerId, table.creditedAt)],
)

/** Failed attempts by key (`login:account:<hash>`, `login:address:…`), kept across restarts until `resetAt`. */
export const throttles = sqliteTable(
  'throttles',
  { key: text().primaryKey(), count: integer().notNull(), resetAt: integer({ mode: 'timestamp_ms' }).notNull() },
  (table) => [index('throttles_by_reset').on(table.resetAt)],
)

import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'

const SUBSCRIPTION_STATUSES = ['inactive', 'active', 'past_due', 'canceled'] as const
const EMAIL_TOKEN_PURPOSES = ['reset-password', 'verify-email', 'change-email'] as const

/**
 * One row per account. `email` is lower case; `passwordHash` is null for accounts that sign in by other methods.
 * `twoFactorSecret` is sealed and active once `twoFactorEnabledAt` is set. `isAdmin` is set for the first account in
 * mode `home` and by `stead user set-admin`; addresses in `ADMIN_EMAILS` are admins too.
 */
export const users = sqliteTable(
  'users',
  {
    id: text().primaryKey(),
    email: text().notNull().unique(),
    name: text().notNull(),
    passwordHash: text(),
    isAdmin: integer({ mode: 'boolean' }).notNull().default(false),
    /** A built-in plan, one of the operator's, or `free` for none. */
    plan: text().notNull().default('free'),
    subscriptionStatus: text({ enum: SUBSCRIPTION_STATUSES }).notNull().default('inactive'),
    subscriptionId: text(),
    credits: integer().notNull().default(0),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    emailVerifiedAt: integer({ mode: 'timestamp_ms' }),
    notifications: text({ mode: 'json' }).notNull().default({}),
    /** IANA name; null until a browser reports it. */
    timeZone: text(),
    referralCode: text().unique(),
    twoFactorSecret: text(),
    twoFactorEnabledAt: integer({ mode: 'timestamp_ms' }),
    /** The last accepted time step: each code works once (RFC 6238, 5.2). */
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

/** One row per signed-in browser. The token itself is only in the browser's cookie. */
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

/** Tokens of mailed links by hash; valid once, until they expire or a later link replaces them. */
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

/** Recovery codes by hash; used ones are deleted. */
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
 * One row per referred user, so credits are granted once: at `creditedAt`, null until the user verifies their address
 * or pays. No foreign key to the referrer, who may delete their account.
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

/** Failure counters by key (`login:account:<hash>`, `login:address:…`), stored until `resetAt`. */
export const throttles = sqliteTable(
  'throttles',
  { key: text().primaryKey(), count: integer().notNull(), resetAt: integer({ mode: 'timestamp_ms' }).notNull() },
  (table) => [index('throttles_by_reset').on(table.resetAt)],
)

import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../users/tables.ts'

const PROVIDERS = ['idp-a', 'idp-b'] as const

/**
 * An account at an identity provider, linked to one of ours. (issuer, subject) identify it, never the e-mail (decisions, 6).
 * The refresh token is sealed; its hash lets a tokens-revoked event find it.
 */
export const identities = sqliteTable(
  'identities',
  {
    issuer: text().notNull(),
    subject: text().notNull(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    provider: text({ enum: PROVIDERS }).notNull(),
    email: text().notNull(),
    refreshToken: text(),
    refreshTokenHash: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    lastUsedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.subject] }),
    index('identities_by_user').on(table.userId),
    index('identities_by_refresh_token').on(table.refreshTokenHash),
    oneOf('identities_provider', table.provider, PROVIDERS),
  ],
)
export type IdentityRow = typeof identities.$inferSelect

/** A sign-in that went to a provider and is not back yet: single use, ten minutes, bound to one browser by `browserHash`. */
export const signInAttempts = sqliteTable(
  'sign_in_attempts',
  {
    stateHash: text().primaryKey(),
    provider: text({ enum: PROVIDERS }).notNull(),
    browserHash: text().notNull(),
    /** Sealed: PKCE verifier and nonce. */
    secrets: text().notNull(),
    expiresAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('sign_in_attempts_by_expiry').on(table.expiresAt)],
)

/** A wallet that signs in, by chain and lower-case address. */
export const wallets = sqliteTable(
  'sign_in_wallets',
  {
    chainId: integer().notNull(),
    address: text().notNull(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.address] }),
    index('sign_in_wallets_by_user').on(table.userId),
  ],
)

/** Nonces given out for wallet sign-in; a used one is deleted before its signature is looked at. */
export const walletNonces = sqliteTable(
  'wallet_nonces',
  { nonce: text().primaryKey(), expiresAt: integer({ mode: 'timestamp_ms' }).notNull() },
  (table) => [index('wallet_nonces_by_expiry').on(table.expiresAt)],
)

import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../users/tables.ts'

const PROVIDERS = ['idp-a', 'idp-b'] as const

/**
 * An identity at a provider, linked to an account. (issuer, subject) identify it, never the e-mail, because addresses
 * change hands. The refresh token is sealed; a tokens-revoked event finds it by its hash.
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

/** A started sign-in at a provider: single use, ten minutes, bound to one browser by `browserHash`. */
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

/** A wallet that can sign in, by chain and lower-case address. */
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

/** Nonces for wallet sign-in; a nonce is deleted before its signature is verified. */
export const walletNonces = sqliteTable(
  'wallet_nonces',
  { nonce: text().primaryKey(), expiresAt: integer({ mode: 'timestamp_ms' }).notNull() },
  (table) => [index('wallet_nonces_by_expiry').on(table.expiresAt)],
)

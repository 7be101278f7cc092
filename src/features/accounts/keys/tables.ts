import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { users } from '../users/tables.ts'

/**
 * One row per user's API key. `prefix` finds candidates, `hash` (SHA-256) decides; the key itself is not kept.
 * Empty `scopes` open everything the owner may do, of a limited key what `limits.ts` says; the last four limit its use of
 * models, a month (UTC) at a time, and null does not. A rotated key works until `expiresAt`, beside the one that replaces it.
 */
export const apiKeys = sqliteTable(
  'api_keys',
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    prefix: text().notNull(),
    hash: text().notNull().unique(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    lastUsedAt: integer({ mode: 'timestamp_ms' }),
    scopes: text({ mode: 'json' }).$type<string[]>().notNull().default([]),
    expiresAt: integer({ mode: 'timestamp_ms' }),
    disabledAt: integer({ mode: 'timestamp_ms' }),
    budgetMicroUsd: integer(),
    tokensPerMonth: integer(),
    models: text({ mode: 'json' }).$type<string[]>(),
    requestsPerMinute: integer(),
  },
  (table) => [index('api_keys_by_user').on(table.userId), index('api_keys_by_prefix').on(table.prefix)],
)
export type ApiKeyRow = typeof apiKeys.$inferSelect

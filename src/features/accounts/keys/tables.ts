import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { users } from '../users/tables.ts'

/**
 * One row per API key. `prefix` finds candidates, `hash` (SHA-256) identifies the key; the key itself is not stored.
 * Empty `scopes` permit everything the owner may do (`scopesOf` in `limits.ts`). The last columns limit model usage
 * per UTC month; null means no limit. A rotated key works until `expiresAt`.
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
    logBodies: integer({ mode: 'boolean' }).notNull().default(false),
    budgetMicroUsd: integer(),
    tokensPerMonth: integer(),
    models: text({ mode: 'json' }).$type<string[]>(),
    requestsPerMinute: integer(),
    endUserBudgetMicroUsd: integer(),
  },
  (table) => [index('api_keys_by_user').on(table.userId), index('api_keys_by_prefix').on(table.prefix)],
)
export type ApiKeyRow = typeof apiKeys.$inferSelect

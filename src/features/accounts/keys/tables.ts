import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Guardrails } from '../guardrails/schemas.ts'
import { users } from '../users/tables.ts'

/**
 * One row per API key. `prefix` finds candidates, `hash` (SHA-256) identifies the key; the key itself is not stored.
 * Empty `scopes` permit everything the owner may do (`scopesOf` in `limits.ts`), empty `allowedCidrs` every address.
 * `budgetMicroUsd` to `requestsPerMinute` limit model usage per UTC month; null means no limit. The budget is higher by
 * `budgetIncreaseMicroUsd` until `budgetIncreaseUntil`. Answers are cached for `cacheSeconds`. A rotated key works
 * until `expiresAt`.
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
    allowedCidrs: text({ mode: 'json' }).$type<string[]>().notNull().default([]),
    budgetIncreaseMicroUsd: integer(),
    budgetIncreaseUntil: integer({ mode: 'timestamp_ms' }),
    cacheSeconds: integer(),
    guardrails: text({ mode: 'json' }).$type<Guardrails>(),
  },
  (table) => [index('api_keys_by_user').on(table.userId), index('api_keys_by_prefix').on(table.prefix)],
)
export type ApiKeyRow = typeof apiKeys.$inferSelect

import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Requests with an `Idempotency-Key`, kept for a day. `id` is a hash of caller and key; `status` is null while the
 * first request is running; `reference` is what it has created. The response is sealed, because it may contain private
 * data.
 */
export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    id: text().primaryKey(),
    requestHash: text().notNull(),
    status: integer(),
    answer: text(),
    reference: text(),
    expiresAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('idempotency_keys_by_expiry').on(table.expiresAt)],
)

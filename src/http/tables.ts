import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Requests that carried an `Idempotency-Key`, for a day. `id` is a hash of caller and key; `status` is null while the
 * first one is under way. `reference` is what it has made, known as soon as that is durable. The answer is sealed: it may say
 * more of a user than a leaked file should.
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

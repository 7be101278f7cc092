import { sql } from 'drizzle-orm'
import { check, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** One row: `keyCheck` is derived from the key that seals the secrets of this database, and tells it from any other. */
export const sealing = sqliteTable('sealing', { id: integer().primaryKey(), keyCheck: text().notNull() }, (table) => [
  check('sealing_one', sql`${table.id} = 1`),
])

/** Keys that were derived from the first master key and outlive it, by their `KeptKey`; none until it is replaced. */
export const keptKeys = sqliteTable('kept_keys', { name: text().primaryKey(), sealedKey: text().notNull() })

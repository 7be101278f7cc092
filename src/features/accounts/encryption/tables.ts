import { sql } from 'drizzle-orm'
import { check, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** One row: `keyCheck` is derived from the master key and identifies it. */
export const sealing = sqliteTable('sealing', { id: integer().primaryKey(), keyCheck: text().notNull() }, (table) => [
  check('sealing_one', sql`${table.id} = 1`),
])

/** Derived keys that outlive the first master key, by `KeptKey`; empty until the master key is replaced. */
export const keptKeys = sqliteTable('kept_keys', { name: text().primaryKey(), sealedKey: text().notNull() })

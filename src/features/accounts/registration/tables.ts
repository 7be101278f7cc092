import { sql } from 'drizzle-orm'
import { check, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** One row while a setup link is valid, with the hash of its token. The link creates the first account. */
export const setupLinks = sqliteTable(
  'setup_links',
  {
    id: integer().primaryKey(),
    tokenHash: text().notNull(),
    expiresAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [check('setup_links_one', sql`${table.id} = 1`)],
)

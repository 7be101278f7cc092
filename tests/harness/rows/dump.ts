import { sql } from 'drizzle-orm'
import type { Db } from '../../../src/db/open.ts'

/** Every row of every table as text: what somebody learns who gets hold of the database file. */
export function dumpTables(db: Db): string {
  return prepareDump(db)()
}

/** Dumps the tables that there are now as often as it is asked, which takes a third of asking for their columns each time. */
export function prepareDump(db: Db): () => string {
  const tables = listTables(db).map((table) => ({ table, readAll: prepareRows(db, table) }))
  return () => tables.flatMap(({ table, readAll }) => [`-- ${table}`, ...readAll()]).join('\n')
}

/** How many rows each table has, to see that a refused request wrote nothing. */
export function countRows(db: Db): Record<string, number> {
  return Object.fromEntries(listTables(db).map((table) => [table, prepareRows(db, table)().length]))
}

function listTables(db: Db): string[] {
  const tables = db
    .select({ name: sql<string>`name` })
    .from(sql`sqlite_master`)
    .where(sql`type = 'table' and name not like 'sqlite_%' and name not like '%_fts%' and name not like '%_words'`)
  return tables.all().map(({ name }) => name)
}

function prepareRows(db: Db, table: string): () => string[] {
  const columns = db.select({ name: sql<string>`name` }).from(sql`pragma_table_info(${table})`).all()
  const values = sql.join(
    columns.map(({ name }) => sql.identifier(name)),
    sql`, `,
  )
  const rows = db
    .select({ row: sql<string>`json_array(${values})` })
    .from(sql`${sql.identifier(table)}`)
    .prepare()
  return () => rows.all().map(({ row }) => row)
}

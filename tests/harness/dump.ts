import { sql } from 'drizzle-orm'
import type { Db } from '../../src/db/open.ts'

/** Every row of every table as text: what somebody learns who gets hold of the database file. */
export function dumpTables(db: Db): string {
  return listTables(db)
    .flatMap((table) => [`-- ${table}`, ...readRows(db, table)])
    .join('\n')
}

/** How many rows each table has, to see that a refused request wrote nothing. */
export function countRows(db: Db): Record<string, number> {
  return Object.fromEntries(listTables(db).map((table) => [table, readRows(db, table).length]))
}

function listTables(db: Db): string[] {
  const tables = db
    .select({ name: sql<string>`name` })
    .from(sql`sqlite_master`)
    .where(sql`type = 'table' and name not like 'sqlite_%'`)
  return tables.all().map(({ name }) => name)
}

function readRows(db: Db, table: string): string[] {
  const columns = db.select({ name: sql<string>`name` }).from(sql`pragma_table_info(${table})`).all()
  const values = sql.join(
    columns.map(({ name }) => sql.identifier(name)),
    sql`, `,
  )
  return db
    .select({ row: sql<string>`json_array(${values})` })
    .from(sql`${sql.identifier(table)}`)
    .all()
    .map(({ row }) => row)
}

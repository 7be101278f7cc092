import { sql } from 'drizzle-orm'
import type { Db } from '../../../src/db/open.ts'

/** Pattern of an encrypted value: version, then at least IV and tag. */
const SEALED = /\bv1\.[\w-]{38,}/

/** Returns `table.column` of every column that contains an encrypted value. */
export function listSealedColumns(db: Db): string[] {
  const columns = db
    .select({ table: sql<string>`m.name`, column: sql<string>`c.name` })
    .from(sql`sqlite_master m, pragma_table_info(m.name) c`)
    .where(sql`m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`)
    .all()
  return columns
    .filter(({ table, column }) => readColumn(db, table, column).some((value) => SEALED.test(value)))
    .map(({ table, column }) => `${table}.${column}`)
    .sort()
}

function readColumn(db: Db, table: string, column: string): string[] {
  const name = sql.identifier(column)
  return db
    .select({ value: sql<string>`CAST(${name} AS TEXT)` })
    .from(sql`${sql.identifier(table)}`)
    .where(sql`${name} IS NOT NULL`)
    .all()
    .map(({ value }) => value)
}

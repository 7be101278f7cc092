import { type SQL, sql } from 'drizzle-orm'
import { type AnySQLiteColumn, check } from 'drizzle-orm/sqlite-core'

/** A CHECK that `column` holds one of `values`: the database keeps what the type promises. */
export function oneOf(name: string, column: AnySQLiteColumn, values: readonly string[]) {
  const list: SQL = sql.raw(values.map((value) => `'${value}'`).join(', '))
  return check(name, sql`${column} IN (${list})`)
}

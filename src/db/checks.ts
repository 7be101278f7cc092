import { type SQL, sql } from 'drizzle-orm'
import { type AnySQLiteColumn, check } from 'drizzle-orm/sqlite-core'

/** Returns a CHECK constraint that `column` holds one of `values`. */
export function oneOf(name: string, column: AnySQLiteColumn, values: readonly string[]) {
  const list: SQL = sql.raw(values.map((value) => `'${value}'`).join(', '))
  return check(name, sql`${column} IN (${list})`)
}

import { type SQL, sql } from 'drizzle-orm'

/**
 * Returns a parameter for prepared joins. The subselect hides the value from the planner: otherwise SQLite plans the
 * join again for each bound value, which takes three times as long.
 */
export function parameter(name: string): SQL {
  return sql`(select ${sql.placeholder(name)})`
}

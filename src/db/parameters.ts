import { type SQL, sql } from 'drizzle-orm'

/**
 * A parameter of a prepared query with a join. The planner cannot look behind the subselect, so it plans the query once:
 * with statistics compiled in, SQLite would otherwise plan a join anew for each value that is bound (three times the time).
 */
export function parameter(name: string): SQL {
  return sql`(select ${sql.placeholder(name)})`
}

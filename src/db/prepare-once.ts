import { type SQL, sql } from 'drizzle-orm'
import type { Db } from './open.ts'

/** Builds and prepares a frequent query once per database: building one takes ten times as long as running it. */
export function prepareOnce<Query>(prepare: (db: Db) => Query): (db: Db) => Query {
  const prepared = new WeakMap<Db, Query>()
  return (db) => {
    const known = prepared.get(db)
    if (known) return known
    const query = prepare(db)
    prepared.set(db, query)
    return query
  }
}

/**
 * Returns a parameter for prepared joins. The subselect hides the value from the planner: otherwise SQLite plans the
 * join again for each bound value, which takes three times as long.
 */
export function parameter(name: string): SQL {
  return sql`(select ${sql.placeholder(name)})`
}

import { is, Param, Placeholder, type SQL, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { clientOf, type Db, type Tx } from './open.ts'

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

type SqlValue = string | number | null

/**
 * Prepares a frequent insert. `values` reads each column from a source, in the form that SQLite stores: Drizzle's own
 * conversion of each value takes as long as the insert.
 */
export function prepareInsert<Source>(
  tx: Tx,
  table: SQLiteTable,
  values: Readonly<Record<string, (source: Source) => SqlValue>>,
): (source: Source) => void {
  const placeholders = Object.fromEntries(Object.keys(values).map((name) => [name, sql.placeholder(name)]))
  const { sql: text, params } = tx.insert(table).values(placeholders).toSQL()
  const readers = params.map((param) => readerOf(values, param))
  const statement = clientOf(tx).prepare<SqlValue[]>(text)
  return (source) => void statement.run(...readers.map((read) => read(source)))
}

function readerOf<Reader>(values: Readonly<Record<string, Reader>>, param: unknown): Reader {
  const placeholder = is(param, Param) ? param.value : param
  const read = is(placeholder, Placeholder) ? values[placeholder.name] : undefined
  if (!read) throw new Error('A prepared insert takes placeholders only')
  return read
}

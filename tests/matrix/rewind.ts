import Database from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import type { Db } from '../../src/db/open.ts'
import { write } from '../../src/db/write.ts'

/** Saves every row of every table. @returns a function that restores them. */
export async function rememberRows(db: Db): Promise<() => Promise<void>> {
  const counted = sql`select tbl_name from sqlite_master where type = 'trigger'`
  const tables = db
    .select({
      name: sql<string>`name`,
      isCounted: sql<number>`name in (${counted})`,
      isFigure: sql<number>`exists (select 1 from sqlite_master as other where other.type = 'trigger'
        and other.tbl_name <> sqlite_master.name
        and (instr(other.sql, 'INTO ' || sqlite_master.name || ' ') or instr(other.sql, 'UPDATE ' || sqlite_master.name || ' ')))`,
    })
    .from(sql`sqlite_master`)
    .where(sql`type = 'table' and name not like 'sqlite_%' and name not like '%_fts%' and name not like '%_words'`)
    .all()
    // Tables that triggers maintain come after those that they count.
    .sort((one, other) => one.isFigure - other.isFigure || other.isCounted - one.isCounted)
    .map(({ name, isFigure }) => ({
      isFigure,
      name,
      copy: `copy_of_${name}`,
      isEmpty:
        db
          .select({ one: sql`1` })
          .from(sql`${sql.identifier(name)}`)
          .limit(1)
          .get() === undefined,
    }))
  const filled = tables.filter(({ isEmpty }) => !isEmpty)
  // These triggers reject changes that this function must make.
  const guards = db
    .select({ name: sql<string>`name` })
    .from(sql`sqlite_master`)
    .where(sql`type = 'trigger' and sql like '%RAISE(ABORT%'`)
    .all()
  await write(db, (tx) => {
    for (const { name } of guards) tx.run(sql`drop trigger ${sql.identifier(name)}`)
    for (const { name, copy } of filled) {
      tx.run(sql`create temp table ${sql.identifier(copy)} as select * from main.${sql.identifier(name)}`)
    }
  })
  const sqlite = clientOf(db)
  const noted = noteChanged(
    sqlite,
    tables.map(({ name }) => name),
  )
  const prepared = tables.map(({ name, copy, isEmpty, isFigure }) => {
    const fill = isEmpty ? null : sqlite.prepare(`insert into main."${name}" select * from temp."${copy}"`)
    return { name, isFigure, empty: sqlite.prepare(`delete from main."${name}"`), fill }
  })
  return () =>
    write(db, (tx) => {
      // Foreign keys hold only after all rows are restored.
      tx.run(sql`pragma defer_foreign_keys = on`)
      const emptied = new Set<string>()
      // Emptying a table deletes other users' rows as well.
      for (let found = noted.list(); found.size > emptied.size; found = noted.list()) {
        for (const { name, empty } of prepared) {
          if (found.has(name) && !emptied.has(name)) empty.run()
        }
        for (const name of found) emptied.add(name)
      }
      for (const { name, isFigure, fill } of prepared) {
        if (!isFigure && emptied.has(name)) fill?.run()
      }
      const noticed = noted.list()
      for (const { name, isFigure, empty, fill } of prepared) {
        if (!isFigure || !noticed.has(name)) continue
        // Restoring the counted rows has run the triggers again.
        empty.run()
        fill?.run()
      }
      noted.clear()
    })
}

/** Records the names of changed tables, by temporary triggers of this connection. */
function noteChanged(sqlite: Database.Database, tables: readonly string[]) {
  sqlite.exec('create temp table changed_tables (name text primary key)')
  for (const name of tables) {
    const note = `insert into changed_tables select '${name}' where not exists (select 1 from changed_tables where name = '${name}')`
    for (const event of ['insert', 'update', 'delete'])
      sqlite.exec(`create temp trigger "${event} on ${name}" after ${event} on main."${name}" begin ${note}; end`)
  }
  const names = sqlite.prepare<[], { name: string }>('select name from changed_tables')
  const clear = sqlite.prepare('delete from changed_tables')
  return { list: () => new Set(names.all().map(({ name }) => name)), clear: () => clear.run() }
}

/** Returns the underlying connection, for statements that are prepared once and run thousands of times. */
function clientOf(db: Db): Database.Database {
  const client: unknown = Reflect.get(db, '$client')
  if (client instanceof Database) return client
  throw new Error('This database is not one of better-sqlite3')
}

/** Returns a function that returns the number of changes so far; if it is equal, no row has changed. */
export function prepareCountOfChanges(db: Db): () => number {
  const counting = clientOf(db).prepare<[], { changes: number }>('select total_changes() as changes')
  return () => counting.get()?.changes ?? 0
}

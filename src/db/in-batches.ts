import { getTableName, inArray, type SQL, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { spareTurn } from '../core/concurrency/timing.ts'
import type { Db, Tx } from './open.ts'
import { write } from './write.ts'

const FIRST_LIMIT = 50
const MAX_LIMIT = 1000
/** Batch sizes grow when a batch took less than `SHORT_MS` and shrink when it took more than `LONG_MS`. */
const SHORT_MS = 2
const LONG_MS = 5

/**
 * Changes many rows in small transactions that do not block the event loop: calls `change` with a maximum number of
 * rows until it changes fewer.
 * @returns the number of changed rows.
 * @throws the reason of `signal`, between two batches.
 */
export async function inBatches(
  db: Db,
  change: (tx: Tx, limit: number) => number,
  signal?: AbortSignal | undefined,
): Promise<number> {
  let total = 0
  for (let limit = FIRST_LIMIT; ; ) {
    await spareTurn()
    signal?.throwIfAborted()
    const { changes, ms } = await write(db, (tx) => timed(() => change(tx, limit)))
    total += changes
    if (changes < limit) return total
    if (ms < SHORT_MS) limit = Math.min(MAX_LIMIT, limit * 2)
    else if (ms > LONG_MS) limit = Math.max(1, Math.floor(limit / 2))
  }
}

/** Deletes the rows matching `condition`, which must be indexed, in batches. */
export function deleteInBatches(
  db: Db,
  table: SQLiteTable,
  condition: SQL | undefined,
  signal?: AbortSignal | undefined,
): Promise<number> {
  return inBatches(db, (tx, limit) => deleteSome(tx, table, condition, limit), signal)
}

/** Deletes at most `limit` rows matching `condition`. @returns the number of deleted rows. */
function deleteSome(tx: Tx, table: SQLiteTable, condition: SQL | undefined, limit: number): number {
  const rowid = sql`rowid`
  const some = tx.select({ rowid }).from(table).where(condition).limit(limit)
  return tx.delete(table).where(inArray(rowid, some)).run().changes
}

function timed(change: () => number): { changes: number; ms: number } {
  const startedAt = performance.now()
  const changes = change()
  return { changes, ms: performance.now() - startedAt }
}

/** A foreign key column and its ON DELETE action. */
type Reference = { table: string; column: string; to: string; onDelete: string }

/**
 * Deletes the rows that cascade from the row `id` of `table`, in batches, so that deleting the row itself is fast
 * afterwards. Leaves rows of `except` to the caller.
 */
export async function deleteDependents(
  db: Db,
  table: SQLiteTable,
  id: string,
  options: { except?: readonly SQLiteTable[]; signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const references = listReferences(db)
  const name = getTableName(table)
  const except = (options.except ?? []).map(getTableName)
  const dependents = references.filter(
    ({ to, onDelete, table: dependent }) => to === name && onDelete === 'CASCADE' && !except.includes(dependent),
  )
  for (const { table: dependent, column } of inOrder(dependents, references)) {
    await inBatches(db, (tx, limit) => deleteRows(tx, dependent, column, id, limit), options.signal)
  }
}

/** Lists every foreign key of the schema. */
function listReferences(db: Db): Reference[] {
  return db
    .select({
      table: sql<string>`m.name`,
      column: sql<string>`f."from"`,
      to: sql<string>`f."table"`,
      onDelete: sql<string>`f.on_delete`,
    })
    .from(sql`sqlite_master AS m, pragma_foreign_key_list(m.name) AS f`)
    .where(sql`m.type = 'table'`)
    .all()
}

/** Sorts referring tables first: messages before their session. */
function inOrder(dependents: Reference[], references: Reference[]): Reference[] {
  const ordered: Reference[] = []
  const visit = (dependent: Reference) => {
    if (ordered.includes(dependent)) return
    const before = references.filter(({ to, table }) => to === dependent.table && table !== dependent.table)
    for (const other of dependents) if (before.some(({ table }) => table === other.table)) visit(other)
    ordered.push(dependent)
  }
  for (const dependent of dependents) visit(dependent)
  return ordered
}

function deleteRows(tx: Tx, table: string, column: string, id: string, limit: number): number {
  const [name, key] = [sql.identifier(table), sql.identifier(column)]
  return tx.run(sql`DELETE FROM ${name} WHERE rowid IN (SELECT rowid FROM ${name} WHERE ${key} = ${id} LIMIT ${limit})`)
    .changes
}

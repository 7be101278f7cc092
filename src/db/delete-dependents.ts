import { getTableName, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { inBatches } from './in-batches.ts'
import type { Db, Tx } from './open.ts'

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

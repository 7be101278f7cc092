import { inArray, type SQL, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { spareTurn } from '../core/concurrency/spare-turn.ts'
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
export function deleteSome(tx: Tx, table: SQLiteTable, condition: SQL | undefined, limit: number): number {
  const rowid = sql`rowid`
  const some = tx.select({ rowid }).from(table).where(condition).limit(limit)
  return tx.delete(table).where(inArray(rowid, some)).run().changes
}

function timed(change: () => number): { changes: number; ms: number } {
  const startedAt = performance.now()
  const changes = change()
  return { changes, ms: performance.now() - startedAt }
}

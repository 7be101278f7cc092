import { and, asc, count, desc, eq, gt, lt, lte, ne, type SQL, sql } from 'drizzle-orm'
import { addDays } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { parameter } from '../../../db/prepare-once.ts'
import { agents } from '../registry/tables.ts'
import { type LogLineRow, logLines, logSources } from './tables.ts'

/** Limit per agent; a tenth is deleted at a time, oldest lines first. */
export const MAX_STORED_BYTES = 8 * 1024 * 1024
const SPARE_BYTES = MAX_STORED_BYTES / 10
const DAYS_KEPT = 14
/** Bytes that a line occupies besides its text. */
const LINE_BYTES = 64
/** Lines read or deleted in one step. */
const STEP = 1000

/** A line to be stored. */
export type NewLine = Pick<LogLineRow, 'stream' | 'text'> & { at: Date }

/** Returns the share of `MAX_STORED_BYTES` that a line takes. */
export function storedBytes(text: string): number {
  return LINE_BYTES + text.length
}

/** Returns the cursor after the last stored line; null when there is none. */
export function findCursor(db: Db, agentId: string): string | null {
  const row = db.select({ cursor: logSources.cursor }).from(logSources).where(eq(logSources.agentId, agentId)).get()
  return row?.cursor ?? null
}

/**
 * Stores lines and moves the cursor in one transaction, so that no crash loses or repeats a line.
 * @returns false without storing anything when the agent is gone or the cursor has moved.
 */
export function appendLines(
  tx: Tx,
  agentId: string,
  lines: readonly NewLine[],
  cursor: { before: string | null; after: string | null },
): boolean {
  if (!tx.select({ id: agents.id }).from(agents).where(eq(agents.id, agentId)).get()) return false
  if (findCursor(tx, agentId) !== cursor.before) return false
  insertLines(tx, agentId, lines)
  const addedBytes = lines.reduce((sum, { text }) => sum + storedBytes(text), 0)
  const sizeBytes = growSource(tx, agentId, cursor.after, addedBytes)
  if (sizeBytes > MAX_STORED_BYTES) deleteOldest(tx, agentId, sizeBytes - MAX_STORED_BYTES + SPARE_BYTES)
  return true
}

/** Updates cursor and size. @returns the stored bytes of the agent. */
function growSource(tx: Tx, agentId: string, cursor: string | null, addedBytes: number): number {
  const { sizeBytes } = logSources
  const grown = tx
    .insert(logSources)
    .values({ agentId, cursor, sizeBytes: addedBytes })
    .onConflictDoUpdate({ target: logSources.agentId, set: { cursor, sizeBytes: sql`${sizeBytes} + ${addedBytes}` } })
    .returning({ sizeBytes })
    .get()
  return grown.sizeBytes
}

/** One statement with JSON costs a fifth of a statement with one parameter per value. */
function insertLines(tx: Tx, agentId: string, lines: readonly NewLine[]): void {
  const rows = lines.map(({ at, stream, text }) => [at.getTime(), stream, text, storedBytes(text)])
  tx.run(sql`
    INSERT INTO log_lines (agent_id, at, stream, text, size_bytes)
    SELECT ${agentId}, value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(${JSON.stringify(rows)})`)
}

/** Deletes the oldest lines until `bytes` are free. */
function deleteOldest(tx: Tx, agentId: string, bytes: number): void {
  let freedBytes = 0
  while (freedBytes < bytes) {
    const oldest = readOldest(tx, agentId)
    if (oldest.length === 0) return
    let last = 0
    for (const { sequence, sizeBytes } of oldest) {
      if (freedBytes >= bytes) break
      freedBytes += sizeBytes
      last = sequence
    }
    deleteUpTo(tx, agentId, last)
  }
}

/** Deletes a batch of old lines. @returns whether there may be more. */
export function deleteOldLines(tx: Tx, agentId: string, now: Date): boolean {
  const before = addDays(now, -DAYS_KEPT)
  const oldest = readOldest(tx, agentId)
  const old = oldest.findLast(({ at }) => at < before)
  if (!old) return false
  deleteUpTo(tx, agentId, old.sequence)
  return old === oldest.at(-1)
}

function readOldest(tx: Tx, agentId: string) {
  return tx
    .select({ sequence: logLines.sequence, sizeBytes: logLines.sizeBytes, at: logLines.at })
    .from(logLines)
    .where(eq(logLines.agentId, agentId))
    .orderBy(asc(logLines.sequence))
    .limit(STEP)
    .all()
}

function deleteUpTo(tx: Tx, agentId: string, sequence: number): void {
  const isOld = and(eq(logLines.agentId, agentId), lte(logLines.sequence, sequence))
  const freed = tx
    .select({ bytes: sql<number>`coalesce(sum(${logLines.sizeBytes}), 0)` })
    .from(logLines)
    .where(isOld)
    .get()
  tx.delete(logLines).where(isOld).run()
  tx.update(logSources)
    .set({ sizeBytes: sql`${logSources.sizeBytes} - ${freed?.bytes ?? 0}` })
    .where(eq(logSources.agentId, agentId))
    .run()
}

/** Lists the agents with stored lines. */
export function listSources(db: Db): string[] {
  return db
    .select({ agentId: logSources.agentId })
    .from(logSources)
    .all()
    .map(({ agentId }) => agentId)
}

export type LineReader = (agentId: string, after: number, limit: number) => LogLineRow[]

/** Creates a prepared query for the lines after a sequence, oldest first; streams run it after every change. */
export function createLineReader(db: Db): LineReader {
  const query = db
    .select()
    .from(logLines)
    .where(and(eq(logLines.agentId, parameter('agentId')), gt(logLines.sequence, parameter('after'))))
    .orderBy(asc(logLines.sequence))
    .limit(sql.placeholder('limit'))
    .prepare()
  return (agentId, after, limit) => query.all({ agentId, after, limit })
}

/**
 * Returns where a stream starts: after `lastId`, or before the last `lines` when it is null or newer than every line,
 * as after restoring a backup.
 */
export function findStart(db: Db, agentId: string, lastId: number | null, lines: number): number {
  const newestFirst = db
    .select({ sequence: logLines.sequence })
    .from(logLines)
    .where(eq(logLines.agentId, agentId))
    .orderBy(desc(logLines.sequence))
  if (lastId !== null && lastId <= (newestSequence(db) ?? 0)) return lastId
  return newestFirst.limit(1).offset(lines).get()?.sequence ?? 0
}

function newestSequence(db: Db): number | undefined {
  const row = db.select({ sequence: logLines.sequence }).from(logLines).orderBy(desc(logLines.sequence)).limit(1).get()
  return row?.sequence
}

/** Returns the newest lines before `before` that contain `text`, oldest first. */
export function searchLines(
  db: Db,
  agentId: string,
  { text, before, limit }: { text?: string | undefined; before?: number | undefined; limit: number },
): LogLineRow[] {
  const conditions: (SQL | undefined)[] = [eq(logLines.agentId, agentId), isLine()]
  if (before !== undefined) conditions.push(lt(logLines.sequence, before))
  if (text) conditions.push(sql`instr(lower(${logLines.text}), lower(${text})) > 0`)
  return db
    .select()
    .from(logLines)
    .where(and(...conditions))
    .orderBy(desc(logLines.sequence))
    .limit(limit)
    .all()
    .reverse()
}

export function countLines(db: Db, agentId: string): number {
  return (
    db
      .select({ lines: count() })
      .from(logLines)
      .where(and(eq(logLines.agentId, agentId), isLine()))
      .get()?.lines ?? 0
  )
}

function isLine(): SQL {
  return ne(logLines.stream, 'exit')
}

import type Database from 'better-sqlite3'
import QuickLRU from 'quick-lru'
import { hashEntry, type LogPosition, preparePositionUpdate } from './position.ts'
import { decodeStatements } from './statements.ts'

/** A committed batch of the leader. */
export type LogEntry = { seq: number; body: string; hash: string }

/** Prepared statements kept between entries. */
const MAX_STATEMENTS = 500

/** This node's data differ from the log: the file must be replaced by a snapshot. */
export class DivergenceError extends Error {}

/** Applies log entries to the database file. */
export type LogApplier = {
  /**
   * Applies consecutive entries after `position` in one transaction.
   * @returns the new position.
   * @throws DivergenceError when an entry does not continue this file's history; the file is unchanged then.
   */
  apply(position: LogPosition, entries: readonly LogEntry[]): LogPosition
}

/** Created before the statements of the connection are captured, because applied statements are in the log already. */
export function createLogApplier(sqlite: Database.Database): LogApplier {
  const prepareUncaptured = sqlite.prepare.bind(sqlite)
  const begin = sqlite.prepare('BEGIN IMMEDIATE')
  const commit = sqlite.prepare('COMMIT')
  const rollback = sqlite.prepare('ROLLBACK')
  const setPosition = preparePositionUpdate(sqlite)
  const prepared = new QuickLRU<string, Database.Statement<unknown[]>>({ maxSize: MAX_STATEMENTS })

  const prepare = (text: string) => {
    const known = prepared.get(text) ?? prepareUncaptured<unknown[]>(text)
    prepared.set(text, known)
    return known
  }
  const applyOne = (position: LogPosition, { seq, body, hash }: LogEntry): LogPosition => {
    if (seq !== position.seq + 1) throw new DivergenceError(`entry ${seq} does not follow ${position.seq}`)
    if (hashEntry(position.hash, body) !== hash) throw new DivergenceError(`entry ${seq} has another history`)
    for (const [text, parameters] of decodeStatements(body)) {
      const statement = prepare(text)
      if (statement.reader) statement.all(...parameters)
      else statement.run(...parameters)
    }
    return { ...position, seq, hash }
  }

  return {
    apply(start, entries) {
      begin.run()
      try {
        const end = entries.reduce(applyOne, start)
        setPosition.run(end.cluster, end.seq, end.hash)
        commit.run()
        return end
      } catch (error) {
        if (sqlite.inTransaction) rollback.run()
        throw isConstraint(error) ? new DivergenceError(String(error)) : error
      }
    },
  }
}

/** A statement that succeeded at the leader and fails here shows different data. */
function isConstraint(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_CONSTRAINT')
}

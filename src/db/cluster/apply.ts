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

/** Applies log entries to a follower's file. */
export type LogApplier = {
  position(): LogPosition
  /**
   * Applies consecutive entries in one transaction.
   * @throws DivergenceError when an entry does not continue this file's history; the file is unchanged then.
   */
  apply(entries: readonly LogEntry[]): void
}

export function createLogApplier(sqlite: Database.Database, start: LogPosition): LogApplier {
  const begin = sqlite.prepare('BEGIN IMMEDIATE')
  const commit = sqlite.prepare('COMMIT')
  const rollback = sqlite.prepare('ROLLBACK')
  const setPosition = preparePositionUpdate(sqlite)
  const prepared = new QuickLRU<string, Database.Statement<unknown[]>>({ maxSize: MAX_STATEMENTS })
  let position = start

  const prepare = (text: string) => {
    const known = prepared.get(text) ?? sqlite.prepare<unknown[]>(text)
    prepared.set(text, known)
    return known
  }
  const applyOne = ({ seq, body, hash }: LogEntry) => {
    if (seq !== position.seq + 1) throw new DivergenceError(`entry ${seq} does not follow ${position.seq}`)
    if (hashEntry(position.hash, body) !== hash) throw new DivergenceError(`entry ${seq} has another history`)
    for (const [text, parameters] of decodeStatements(body)) {
      const statement = prepare(text)
      if (statement.reader) statement.all(...parameters)
      else statement.run(...parameters)
    }
    position = { ...position, seq, hash }
  }

  return {
    position: () => position,
    apply(entries) {
      const before = position
      begin.run()
      try {
        for (const entry of entries) applyOne(entry)
        setPosition.run(position.cluster, position.seq, position.hash)
        commit.run()
      } catch (error) {
        position = before
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

import type Database from 'better-sqlite3'
import { z } from 'zod'

const Progress = z.tuple([z.object({ busy: z.number(), log: z.number(), checkpointed: z.number() })])

/**
 * Runs a checkpoint and returns the progress: `PASSIVE` copies what no reader needs, `RESTART` and `TRUNCATE` everything,
 * after which the log starts anew.
 */
export function checkpoint(sqlite: Database.Database, mode: 'PASSIVE' | 'RESTART' | 'TRUNCATE') {
  return toProgress(sqlite.pragma(`wal_checkpoint(${mode})`))
}

/** Prepares a function that returns the progress and copies nothing. */
export function prepareProgress(sqlite: Database.Database): () => ReturnType<typeof checkpoint> {
  const statement = sqlite.prepare('PRAGMA wal_checkpoint(NOOP)')
  return () => toProgress(statement.all())
}

function toProgress(rows: unknown) {
  const [{ busy, log, checkpointed }] = Progress.parse(rows)
  return { isBusy: busy !== 0, frames: log, copied: checkpointed }
}

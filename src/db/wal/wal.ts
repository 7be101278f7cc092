import type Database from 'better-sqlite3'
import { z } from 'zod'

const Progress = z.tuple([z.object({ busy: z.number(), log: z.number(), checkpointed: z.number() })])

/**
 * How far the write-ahead log was copied into the database, after as much of it as `mode` says: `NOOP` copies nothing,
 * `PASSIVE` what no reader needs, `RESTART` and `TRUNCATE` all of it, and what is written next begins the log anew.
 */
export function checkpoint(sqlite: Database.Database, mode: 'NOOP' | 'PASSIVE' | 'RESTART' | 'TRUNCATE') {
  const [{ busy, log, checkpointed }] = Progress.parse(sqlite.pragma(`wal_checkpoint(${mode})`))
  return { isBusy: busy !== 0, frames: log, copied: checkpointed }
}

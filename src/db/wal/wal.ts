import type Database from 'better-sqlite3'
import { z } from 'zod'

const Progress = z.tuple([z.object({ busy: z.number(), log: z.number(), checkpointed: z.number() })])

/**
 * Runs a checkpoint and returns the progress: `NOOP` copies nothing, `PASSIVE` what no reader needs, `RESTART` and
 * `TRUNCATE` everything, after which the log starts anew.
 */
export function checkpoint(sqlite: Database.Database, mode: 'NOOP' | 'PASSIVE' | 'RESTART' | 'TRUNCATE') {
  const [{ busy, log, checkpointed }] = Progress.parse(sqlite.pragma(`wal_checkpoint(${mode})`))
  return { isBusy: busy !== 0, frames: log, copied: checkpointed }
}

import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Kinds of runs: create a backup, verify it, restore it for a drill, restore one agent. */
const BACKUP_KINDS = ['backup', 'verify', 'drill', 'restore'] as const

/**
 * One row per run, scheduled or started by an administrator. `finishedAt` is null while it is in progress; `error` is
 * the reason of a failure, `outcome` a summary, `verifiedAt` the time of verification.
 */
export const backupRuns = sqliteTable(
  'backup_runs',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    kind: text({ enum: BACKUP_KINDS }).notNull().default('backup'),
    startedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    finishedAt: integer({ mode: 'timestamp_ms' }),
    file: text(),
    sizeBytes: integer(),
    verifiedAt: integer({ mode: 'timestamp_ms' }),
    error: text(),
    outcome: text(),
  },
  (table) => [index('backup_runs_by_time').on(table.startedAt)],
)
export type BackupRunRow = typeof backupRuns.$inferSelect

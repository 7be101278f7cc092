import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** What is done with backups: one is made, proved, restored for a trial, or one agent is brought back from it. */
export const BACKUP_KINDS = ['backup', 'verify', 'drill', 'restore'] as const

/**
 * Something that was done with backups, by itself or for an admin. `finishedAt` is null while it is under way; `error` says
 * why it failed, `outcome` in words what came of it. `verifiedAt` is when the backup was found whole.
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

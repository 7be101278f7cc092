import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * A backup that was made by itself or by an admin. `finishedAt` is null while it is being made; `error` says why there is
 * none. `verifiedAt` is when it was taken apart and proved.
 */
export const backupRuns = sqliteTable(
  'backup_runs',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    startedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    finishedAt: integer({ mode: 'timestamp_ms' }),
    file: text(),
    sizeBytes: integer(),
    verifiedAt: integer({ mode: 'timestamp_ms' }),
    error: text(),
  },
  (table) => [index('backup_runs_by_time').on(table.startedAt)],
)
export type BackupRunRow = typeof backupRuns.$inferSelect

import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'

const STATUSES = ['queued', 'processing', 'completed', 'failed'] as const

/** Videos that users ordered; the file of a completed one is `videos/<id>.mp4` in the data folder. */
export const videos = sqliteTable(
  'videos',
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    type: text().notNull(),
    prompt: text().notNull(),
    imageUrl: text(),
    status: text({ enum: STATUSES }).notNull(),
    providerId: text(),
    error: text(),
    sizeBytes: integer(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    finishedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [index('videos_by_user').on(table.userId, table.status), oneOf('videos_status', table.status, STATUSES)],
)
export type VideoRow = typeof videos.$inferSelect

import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'

const STATUSES = ['creating', 'created', 'active', 'idle'] as const

/**
 * Live streams of users. `providerId` is null until the provider answers; the stream key is never stored. `statusAt` is
 * the time of the provider's event, so an older event that arrives late changes nothing.
 */
export const radioStreams = sqliteTable(
  'radio_streams',
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    providerId: text().unique(),
    name: text().notNull(),
    wallet: text().notNull(),
    playbackId: text(),
    status: text({ enum: STATUSES }).notNull(),
    statusAt: integer({ mode: 'timestamp_ms' }).notNull(),
    /** The stream's newest recording, as the provider's asset id. */
    recordingAssetId: text(),
    recordingPlaybackId: text(),
    recordingSeconds: integer(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('radio_streams_by_user').on(table.userId), oneOf('radio_streams_status', table.status, STATUSES)],
)
export type RadioStreamRow = typeof radioStreams.$inferSelect

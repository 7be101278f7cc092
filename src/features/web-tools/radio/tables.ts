import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'

const STATUSES = ['creating', 'created', 'active', 'idle'] as const

/**
 * Live streams that users made. `providerId` is null while the provider is asked; the stream key is never kept.
 * `statusAt` is the time of the provider's event, so that an older one that comes late changes nothing.
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
    /** The newest recording of the stream, as an asset of the provider. */
    recordingAssetId: text(),
    recordingPlaybackId: text(),
    recordingSeconds: integer(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('radio_streams_by_user').on(table.userId), oneOf('radio_streams_status', table.status, STATUSES)],
)
export type RadioStreamRow = typeof radioStreams.$inferSelect

import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../users/tables.ts'
import { CHANNEL_KINDS, NOTICE_KINDS, type NoticeKind } from './schemas.ts'

/** How an owner wants to be told; who has no row has the defaults. `quietFrom` and `quietTo` are `HH:MM`, both or neither. */
export const noticeSettings = sqliteTable('notice_settings', {
  userId: text()
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  mailKinds: text({ mode: 'json' }).$type<NoticeKind[]>().notNull(),
  quietFrom: text(),
  quietTo: text(),
  timeZone: text().notNull().default('UTC'),
  resendMinutes: integer(),
  mutedAgents: text({ mode: 'json' }).$type<string[]>().notNull(),
  updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
})

/** Where else than by mail: `destination` in a few words without a secret. `sealedRecipient` is JSON: it holds tokens. */
export const noticeChannels = sqliteTable(
  'notice_channels',
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    kind: text({ enum: CHANNEL_KINDS }).notNull(),
    name: text().notNull(),
    destination: text().notNull().default(''),
    sealedRecipient: text().notNull(),
    kinds: text({ mode: 'json' }).$type<NoticeKind[]>().notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    lastSentAt: integer({ mode: 'timestamp_ms' }),
    lastError: text(),
  },
  (table) => [
    index('notice_channels_by_user').on(table.userId),
    oneOf('notice_channels_kind', table.kind, CHANNEL_KINDS),
  ],
)

/**
 * What an owner was told. A problem is open until `endedAt`: while it is, the same is not told again, except as a reminder,
 * which counts in `reminders`. `toldAt` is when it was last put on its way.
 */
export const notices = sqliteTable(
  'notices',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    agentId: text(),
    agentName: text(),
    kind: text({ enum: NOTICE_KINDS }).notNull(),
    text: text().notNull(),
    reminders: integer().notNull().default(0),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    toldAt: integer({ mode: 'timestamp_ms' }).notNull(),
    endedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('notices_by_user').on(table.userId, table.sequence),
    index('notices_open').on(table.endedAt, table.toldAt),
    index('notices_by_time').on(table.createdAt),
    oneOf('notices_kind', table.kind, NOTICE_KINDS),
  ],
)

/** A notice on its way to one channel, `mail` or the id of one. `sentAt` is null until it was taken. */
export const noticeDeliveries = sqliteTable(
  'notice_deliveries',
  {
    noticeId: text()
      .notNull()
      .references(() => notices.id, { onDelete: 'cascade' }),
    channelId: text().notNull(),
    dueAt: integer({ mode: 'timestamp_ms' }).notNull(),
    attempts: integer().notNull().default(0),
    error: text(),
    sentAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    primaryKey({ columns: [table.noticeId, table.channelId] }),
    index('notice_deliveries_waiting').on(table.channelId, table.sentAt),
  ],
)

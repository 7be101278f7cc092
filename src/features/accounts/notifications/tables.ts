import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../users/tables.ts'
import { CHANNEL_KINDS, NOTICE_KINDS, type NoticeKind, type Notification, OPERATOR_CHANNELS } from './schemas.ts'

/**
 * Notification preferences; owners without a row have the defaults. `quietFrom` and `quietTo` are `HH:MM`, both or
 * neither.
 */
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

/**
 * Channels besides mail. `destination` is a short description without secrets; `sealedRecipient` is sealed JSON with
 * credentials.
 */
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
 * Notices to owners. A problem is open until `endedAt`; while open it is not reported again except as a reminder,
 * counted in `reminders`. `toldAt` is the time of the last report.
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

/** The delivery of a notice to one channel, `mail` or a channel id. `sentAt` is null until the receiver accepted it. */
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

/**
 * Deliveries to operators' channels in sending order; old ones are deleted. `deliveredAt` is null until accepted,
 * `status` is the last HTTP status, `error` the last failure. No foreign key: the record outlives the agent.
 */
export const notificationDeliveries = sqliteTable(
  'notification_deliveries',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    notificationId: text().notNull(),
    channel: text({ enum: OPERATOR_CHANNELS }).notNull(),
    kind: text().notNull(),
    agentId: text(),
    notification: text({ mode: 'json' }).$type<Notification>().notNull(),
    attempts: integer().notNull().default(0),
    status: integer(),
    error: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    deliveredAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    uniqueIndex('notification_deliveries_once').on(table.notificationId, table.channel),
    index('notification_deliveries_waiting').on(table.channel, table.deliveredAt),
    index('notification_deliveries_by_time').on(table.createdAt),
    oneOf('notification_deliveries_channel', table.channel, OPERATOR_CHANNELS),
  ],
)

import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../users/tables.ts'
import { CHANNEL_KINDS, NOTICE_KINDS, type NoticeKind, type Notification, OPERATOR_CHANNELS } from './schemas.ts'

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

/**
 * What is to be sent on each channel, in this order, and how that went; old ones are deleted. `deliveredAt` is null until
 * the receiver took it, `status` is the last HTTP status and `error` the last failure. No foreign key: the record outlives
 * the agent.
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

import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { CHANNELS, type Notification } from './schemas.ts'

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
    channel: text({ enum: CHANNELS }).notNull(),
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
    oneOf('notification_deliveries_channel', table.channel, CHANNELS),
  ],
)

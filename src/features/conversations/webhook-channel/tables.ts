import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'

const STATUSES = ['queued', 'answered', 'failed'] as const
const ANSWER_STATUSES = ['queued', 'sent', 'failed'] as const

/**
 * How a program of the owner's speaks to an agent: what it signs with, and where answers go. `sealedChannel` is JSON with both;
 * `destination` is the address without what may be secret in it.
 */
export const webhookChannels = sqliteTable('webhook_channels', {
  agentId: text()
    .primaryKey()
    .references(() => agents.id, { onDelete: 'cascade' }),
  sealedChannel: text().notNull(),
  destination: text().notNull(),
  since: integer({ mode: 'timestamp_ms' }).notNull(),
  lastReceivedAt: integer({ mode: 'timestamp_ms' }),
  lastSentAt: integer({ mode: 'timestamp_ms' }),
  lastError: text(),
  lastErrorAt: integer({ mode: 'timestamp_ms' }),
})
export type WebhookChannelRow = typeof webhookChannels.$inferSelect

/** What came in, once for each id that its sender gave it, and what was answered. */
export const webhookDeliveries = sqliteTable(
  'webhook_deliveries',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    deliveryId: text().notNull(),
    /** Of the turn, and of the answer. */
    id: text().notNull().unique(),
    conversation: text().notNull(),
    text: text().notNull(),
    status: text({ enum: STATUSES }).notNull(),
    reply: text(),
    error: text(),
    answerStatus: text({ enum: ANSWER_STATUSES }),
    answerError: text(),
    receivedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    answeredAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    primaryKey({ columns: [table.agentId, table.deliveryId] }),
    index('webhook_deliveries_by_agent').on(table.agentId, table.receivedAt),
    index('webhook_deliveries_by_time').on(table.receivedAt),
    index('webhook_deliveries_waiting').on(table.agentId).where(sql`status = 'queued'`),
    oneOf('webhook_deliveries_status', table.status, STATUSES),
  ],
)
export type WebhookDeliveryRow = typeof webhookDeliveries.$inferSelect

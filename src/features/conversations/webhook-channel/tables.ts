import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'

const STATUSES = ['queued', 'answered', 'failed'] as const
const ANSWER_STATUSES = ['queued', 'sent', 'failed'] as const

/**
 * Webhook channel of an agent. `sealedChannel` is JSON with the secret and the receiver's URL; `destination` is the
 * URL's origin, because the rest may be secret.
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

/** Received messages, once per sender's id, and their answers. */
export const webhookDeliveries = sqliteTable(
  'webhook_deliveries',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    deliveryId: text().notNull(),
    /** Id of the turn and of the answer. */
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

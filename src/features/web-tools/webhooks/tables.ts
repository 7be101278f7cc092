import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Received events by the sender's id, so each is applied once. A repetition gets the stored `outcome`. Payloads are not
 * stored: they contain stream keys and mails.
 */
export const webhookEvents = sqliteTable(
  'webhook_events',
  {
    source: text({ enum: ['video', 'email'] }).notNull(),
    id: text().notNull(),
    type: text().notNull(),
    subject: text(),
    outcome: text().notNull(),
    receivedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.source, table.id] }), index('webhook_events_by_time').on(table.receivedAt)],
)

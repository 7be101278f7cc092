import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Events that services sent, by the id their sender gave them: each is acted on once. `outcome` is what was answered,
 * so a repetition gets the same. Payloads are not kept: they hold stream keys and mails.
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

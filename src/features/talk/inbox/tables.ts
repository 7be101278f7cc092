import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'

const STATUSES = ['queued', 'delivered', 'failed'] as const

/** Mail for an agent, in the order of `sequence`. `sender` is lower case; `reply` is what the agent said to it. */
export const inboxMessages = sqliteTable(
  'inbox_messages',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    sender: text().notNull(),
    subject: text().notNull(),
    text: text().notNull(),
    status: text({ enum: STATUSES }).notNull(),
    reply: text(),
    error: text(),
    receivedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    deliveredAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('inbox_messages_by_agent').on(table.agentId, table.sequence),
    index('inbox_messages_by_time').on(table.receivedAt),
    index('inbox_messages_by_sender').on(table.sender, table.receivedAt),
    oneOf('inbox_messages_status', table.status, STATUSES),
  ],
)
export type InboxRow = typeof inboxMessages.$inferSelect

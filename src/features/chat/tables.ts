import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../db/checks.ts'
import { users } from '../accounts/tables.ts'
import { agents } from '../agents/tables.ts'

const SENDERS = ['user', 'agent'] as const
const STATUSES = ['sent', 'failed'] as const

/** One row per line of a conversation between a user and an agent, in the order of `sequence`. */
export const messages = sqliteTable(
  'messages',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    sender: text({ enum: SENDERS }).notNull(),
    content: text().notNull(),
    topic: text(),
    status: text({ enum: STATUSES }).notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('messages_by_agent').on(table.userId, table.agentId, table.sequence),
    oneOf('messages_sender', table.sender, SENDERS),
    oneOf('messages_status', table.status, STATUSES),
  ],
)
export type MessageRow = typeof messages.$inferSelect

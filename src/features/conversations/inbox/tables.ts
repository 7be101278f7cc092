import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'

/** Columns added later have no CHECK constraint, because adding one rewrites the whole table. */
const ANSWER_STATUSES = ['queued', 'sent', 'withheld', 'failed'] as const
const STATUSES = ['queued', 'delivered', 'failed'] as const

/** An attachment, stored in the agent's workspace; `textPath` is its extracted text. */
export type MailFile = {
  name: string
  path: string | null
  textPath: string | null
  mediaType: string
  sizeBytes: number
  problem: string | null
}

/**
 * Mail for an agent, in the order of `sequence`. `sender` is lower case; `reply` is the agent's answer. `threadId` is
 * the id of the thread's first mail; `automatic` is the reason why it must not be answered. `answerStatus` is null
 * while the agent answers no mail.
 */
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
    messageId: text(),
    threadId: text(),
    references: text({ mode: 'json' }).$type<string[]>().notNull().default([]),
    automatic: text(),
    files: text({ mode: 'json' }).$type<MailFile[]>().notNull().default([]),
    answerStatus: text({ enum: ANSWER_STATUSES }),
    answerError: text(),
    answeredAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('inbox_messages_by_agent').on(table.agentId, table.sequence),
    index('inbox_messages_by_time').on(table.receivedAt),
    index('inbox_messages_by_sender').on(table.sender, table.receivedAt),
    oneOf('inbox_messages_status', table.status, STATUSES),
  ],
)
export type InboxRow = typeof inboxMessages.$inferSelect

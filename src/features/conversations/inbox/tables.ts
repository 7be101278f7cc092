import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'

/** Columns that came later have no check in the database: adding one would write the whole table anew. */
const ANSWER_STATUSES = ['queued', 'sent', 'withheld', 'failed'] as const
const STATUSES = ['queued', 'delivered', 'failed'] as const

/** A file that came with a mail, in the workspace of its agent; `textPath` is what can be read in it. */
export type MailFile = {
  name: string
  path: string | null
  textPath: string | null
  mediaType: string
  sizeBytes: number
  problem: string | null
}

/**
 * Mail for an agent, in the order of `sequence`. `sender` is lower case; `reply` is what the agent said to it. `threadId` is
 * the id of the first mail of its thread; `automatic` says why it must not be answered. Where `answerStatus` is null the
 * agent answers no mail.
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

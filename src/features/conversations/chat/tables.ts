import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { END_REASONS } from '../../../core/agents/collect-turn.ts'
import { PLATFORMS } from '../../../core/agents/platforms.ts'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'

const SENDERS = ['user', 'agent'] as const
const STATUSES = ['sent', 'stopped', 'failed'] as const
const ATTACHMENT_KINDS = ['image', 'text', 'pdf'] as const
const TURN_STATES = ['running', 'done', 'stopped', 'failed'] as const

/**
 * Conversations of a user with one agent. The agent knows each by a session key that contains its id. The current one
 * is the one with the latest activity.
 */
export const chatSessions = sqliteTable(
  'chat_sessions',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    /** Null before the first message. */
    title: text(),
    instructions: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    lastActivity: integer({ mode: 'timestamp_ms' }).notNull(),
    platform: text({ enum: PLATFORMS }).notNull().default('web'),
    /** The agent's session key of a conversation on a messenger, by mail or by webhook; null on the web. */
    channelKey: text(),
  },
  (table) => [
    uniqueIndex('chat_sessions_by_channel')
      .on(table.agentId, table.channelKey)
      .where(sql`${table.channelKey} IS NOT NULL`),
    index('chat_sessions_by_agent').on(table.agentId, table.lastActivity),
    index('chat_sessions_by_user').on(table.userId, table.sequence),
  ],
)
export type ChatSessionRow = typeof chatSessions.$inferSelect

/**
 * One row per message between a user and an agent, in the order of `sequence`. `failed` marks a question without a
 * complete reply, and a partial reply; `stopped` marks one that the user stopped.
 */
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
    /** Null for messages outside of sessions. */
    sessionId: text().references(() => chatSessions.id),
    status: text({ enum: STATUSES }).notNull(),
    /** Id of the question that replaced this message or one before it. */
    replacedBy: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    platform: text({ enum: PLATFORMS }).notNull().default('web'),
    /** Name of the author on a messenger; null for the user and the agent. */
    author: text(),
    /** Message id at the messenger, so each message is stored once. */
    externalId: text(),
  },
  (table) => [
    uniqueIndex('messages_by_external_id')
      .on(table.agentId, table.externalId)
      .where(sql`${table.externalId} IS NOT NULL`),
    index('messages_by_replacement').on(table.replacedBy),
    index('messages_by_agent').on(table.agentId, table.sequence),
    index('messages_by_user').on(table.userId, table.sequence),
    index('messages_by_session').on(table.sessionId, table.sequence),
    index('messages_by_time').on(table.createdAt),
    oneOf('messages_sender', table.sender, SENDERS),
    oneOf('messages_status', table.status, STATUSES),
  ],
)
export type MessageRow = typeof messages.$inferSelect

/**
 * One row per message that an agent was asked to answer, inserted before the agent is asked. A turn that is `running`
 * when the platform starts was interrupted. `sessionKey` is the agent's session key.
 */
export const chatTurns = sqliteTable(
  'chat_turns',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    questionId: text()
      .notNull()
      .unique()
      .references(() => messages.id, { onDelete: 'cascade' }),
    /** The agent's reply, complete or partial; null without one. */
    replyId: text().unique(),
    sessionKey: text().notNull(),
    state: text({ enum: TURN_STATES }).notNull(),
    /** Kind and message of the `AppError`. */
    errorKind: text(),
    error: text(),
    errorCode: text(),
    /** The caller's idempotency key, and a hash of the request. */
    requestKey: text(),
    requestHash: text(),
    /** Usage that the agent reported; the platform's own records are linked by the generation ids. */
    model: text(),
    inputTokens: integer(),
    outputTokens: integer(),
    generationIds: text({ mode: 'json' }).$type<string[]>(),
    /** The limit that ended the turn, or null. */
    endedBy: text({ enum: END_REASONS }),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    finishedAt: integer({ mode: 'timestamp_ms' }),
    /** Number of times the agent resumed the turn after a crash. */
    restarts: integer().notNull().default(0),
    /** Position of the latest restart; earlier text is dropped. */
    startPosition: integer().notNull().default(0),
  },
  (table) => [
    index('chat_turns_by_agent').on(table.agentId, table.sequence),
    index('chat_turns_by_conversation').on(table.agentId, table.sessionKey, table.sequence),
    index('chat_turns_by_user').on(table.userId, table.sequence),
    uniqueIndex('chat_turns_by_request').on(table.userId, table.requestKey),
    index('chat_turns_by_state').on(table.state, table.userId),
    oneOf('chat_turns_state', table.state, TURN_STATES),
  ],
)
export type TurnRow = typeof chatTurns.$inferSelect

/**
 * Text of a running turn, in the order of `start`, a position of `TurnLog`. After the turn, the agent's message
 * replaces it.
 */
export const chatTurnPieces = sqliteTable(
  'chat_turn_pieces',
  {
    turnId: text()
      .notNull()
      .references(() => chatTurns.id, { onDelete: 'cascade' }),
    start: integer().notNull(),
    text: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.turnId, table.start] })],
)

/**
 * Messages per agent and day (UTC): questions, failed questions, and answers. Triggers keep them consistent with
 * `messages`.
 */
export const messageDays = sqliteTable(
  'message_days',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    day: text().notNull(),
    asked: integer().notNull(),
    failed: integer().notNull(),
    answered: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.day] })],
)

/** Tool calls of a turn, in the order of `start`, a position of `TurnLog`. */
export const chatToolCalls = sqliteTable(
  'chat_tool_calls',
  {
    turnId: text()
      .notNull()
      .references(() => chatTurns.id, { onDelete: 'cascade' }),
    start: integer().notNull(),
    name: text().notNull(),
    arguments: text().notNull(),
    result: text().notNull(),
    success: integer({ mode: 'boolean' }).notNull(),
    durationMs: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.turnId, table.start] })],
)

/**
 * Files uploaded for an agent; `messageId` is null until they are sent. The file itself is in the agent's workspace at
 * `path`.
 */
export const chatAttachments = sqliteTable(
  'chat_attachments',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    messageId: text().references(() => messages.id, { onDelete: 'cascade' }),
    kind: text({ enum: ATTACHMENT_KINDS }).notNull(),
    name: text().notNull(),
    mediaType: text().notNull(),
    sizeBytes: integer().notNull(),
    path: text().notNull(),
    /** Beginning of the file's text, and the path of the whole text in the workspace; null for an image. */
    excerpt: text(),
    textPath: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('chat_attachments_by_message').on(table.messageId),
    index('chat_attachments_by_user').on(table.userId, table.sequence),
    index('chat_attachments_by_agent').on(table.agentId, table.sequence),
    oneOf('chat_attachments_kind', table.kind, ATTACHMENT_KINDS),
  ],
)
export type AttachmentRow = typeof chatAttachments.$inferSelect

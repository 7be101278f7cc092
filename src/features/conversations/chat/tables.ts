import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { PLATFORMS } from '../../../core/agents/platforms.ts'
import { END_REASONS } from '../../../core/agents/turn-limits.ts'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'

const SENDERS = ['user', 'agent'] as const
const STATUSES = ['sent', 'stopped', 'failed'] as const
const ATTACHMENT_KINDS = ['image', 'text', 'pdf'] as const
const TURN_STATES = ['running', 'done', 'stopped', 'failed'] as const

/**
 * Conversations that a user keeps apart with one agent. The agent knows each by a session key made of its id. Which one
 * goes on is not stored: it is the one with the latest activity.
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
    /** Null until something is said in it. */
    title: text(),
    /** What the agent is told in every turn of it, and in no other. */
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
export type SessionRow = typeof chatSessions.$inferSelect

/**
 * One row per line of a conversation between a user and an agent, in the order of `sequence`. `failed` is a question without
 * a whole answer, and what there is of that answer; `stopped` is what somebody cut short.
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
    /** The session it belongs to; null for what was said outside of sessions. */
    sessionId: text().references(() => chatSessions.id),
    status: text({ enum: STATUSES }).notNull(),
    /** The question that took its place, or the place of one before it: an id of a message. */
    replacedBy: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    platform: text({ enum: PLATFORMS }).notNull().default('web'),
    /** The name of the person who wrote it on another platform; null for the user and for the agent. */
    author: text(),
    /** The id under which another platform reports the message, so that each is stored once. */
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
 * One row per message that an agent was asked to answer, made with the message and before anything is sent. A turn that is
 * `running` when the platform starts was cut short by its end. `sessionKey` is the agent's name for the conversation.
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
    /** The message that the agent answered with, whole or not; null when it said nothing. */
    replyId: text().unique(),
    sessionKey: text().notNull(),
    state: text({ enum: TURN_STATES }).notNull(),
    /** Why it failed: a kind of `AppError` and its words. */
    errorKind: text(),
    error: text(),
    errorCode: text(),
    /** What the caller names the request by, so that the same one is one turn, and what it asked for. */
    requestKey: text(),
    requestHash: text(),
    /** What the agent says it used; what the platform booked stands under the ids of the calls. */
    model: text(),
    inputTokens: integer(),
    outputTokens: integer(),
    generationIds: text({ mode: 'json' }).$type<string[]>(),
    /** The limit that ended it before the model had answered; null for most. */
    endedBy: text({ enum: END_REASONS }),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    finishedAt: integer({ mode: 'timestamp_ms' }),
    /** Number of times the agent took the turn up again after a crash. */
    restarts: integer().notNull().default(0),
    /** The position at which the latest restart began to answer anew: what was said before it is dropped. */
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
 * What an agent has said so far in a turn that is running, in the order of `start`, a position of `turns/log.ts`. When the
 * turn ends, the message of the agent takes its place.
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
 * How much was said with an agent on a day (UTC): lines of the user, those of them that got no reply, and the agent's.
 * `message-figures.ts` keeps them in step with `messages`.
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

/** Uses of tools in a turn, in the order of `start`, a position of `turns/log.ts`. */
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
 * Files that were given to an agent with a message, or are to be: then `messageId` is null. The file itself lies in the
 * workspace of the agent, below `path`, and is the agent's own from there on.
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
    /** The beginning of what can be read in it, and the file in the workspace with all of it; null for an image. */
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

import { and, desc, eq, isNull, lt, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { readPage } from '../../../db/pages.ts'
import type { Principal, SignedInUser } from '../../../http/env.ts'
import { findAgent, getAgent } from '../../agents/registry/agents.ts'
import type { AgentMessages, AgentMessagesQuery } from '../../agents/registry/schemas.ts'
import { showAttachments } from './attachments.ts'
import type { ChatMessage, MessageList, MessageQuery } from './schemas.ts'
import { type MessageRow, messageDays, messages } from './tables.ts'
import { summarizeTurns } from './turns/figures.ts'

/** Returns a page of a user's messages with one agent, or all agents, before the message `before`; oldest first. */
export function listMessages(db: Db, user: SignedInUser, query: MessageQuery): MessageList {
  // Otherwise the query would scan the history of another user's agent in vain.
  if (query.agentId && !findAgent(db, { kind: 'user', user }, query.agentId)) return NOTHING
  const selection = db
    .select()
    .from(messages)
    .where(isWanted(db, user.id, query))
    .orderBy(desc(messages.sequence))
  const { rows: newestFirst, hasMore } = readPage(selection, query.limit)
  const rows = newestFirst.reverse()
  const turns = summarizeTurns(db, rows)
  const attachments = showAttachments(db, rows)
  const page = rows.map((row) => ({ ...toChatMessage(row), ...turns.get(row.id), ...attachments.get(row.id) }))
  return { messages: page, count: page.length, hasMore }
}

function isWanted(db: Db, userId: string, query: MessageQuery): SQL | undefined {
  return and(
    // The unary plus makes SQLite use the agent's index.
    query.agentId
      ? and(sql`+${messages.userId} = ${userId}`, eq(messages.agentId, query.agentId))
      : eq(messages.userId, userId),
    query.sessionId === undefined ? undefined : isInSession(query.sessionId),
    query.replacedBy ? eq(messages.replacedBy, query.replacedBy) : isNull(messages.replacedBy),
    query.before ? lt(messages.sequence, sequenceOf(db, userId, query.before)) : undefined,
  )
}

const NOTHING: MessageList = { messages: [], count: 0, hasMore: false }

/** `none` selects messages outside of sessions. */
function isInSession(sessionId: string): SQL {
  return sessionId === 'none' ? isNull(messages.sessionId) : eq(messages.sessionId, sessionId)
}

/** Returns 0 for a message that the user does not have: nothing precedes it. */
export function sequenceOf(db: Db, userId: string, id: string): number {
  const row = db
    .select({ sequence: messages.sequence })
    .from(messages)
    .where(and(eq(messages.id, id), eq(messages.userId, userId)))
    .get()
  return row?.sequence ?? 0
}

export function toChatMessage(row: MessageRow): ChatMessage {
  return {
    id: row.id,
    agentId: row.agentId,
    sender: row.sender,
    content: row.content,
    topic: row.topic,
    status: row.status,
    timestamp: row.createdAt.toISOString(),
    platform: row.platform,
    author: row.author,
    ...(row.sessionId !== null && { sessionId: row.sessionId }),
  }
}

/**
 * Returns an agent's messages of every platform, newest first, whether the agent runs or not.
 * @throws AppError `not_found` for a missing agent or another user's.
 */
export function listAgentMessages(db: Db, principal: Principal, id: string, query: AgentMessagesQuery): AgentMessages {
  const agent = getAgent(db, principal, id)
  const shown = readNewest(db, agent.id, query).map(toAgentMessage)
  return { messages: shown, total: countMessages(db, agent.id), ...query, status: 'ok' }
}

function readNewest(db: Db, agentId: string, { limit, offset }: AgentMessagesQuery): MessageRow[] {
  return db
    .select()
    .from(messages)
    .where(eq(messages.agentId, agentId))
    .orderBy(desc(messages.sequence))
    .limit(limit)
    .offset(offset)
    .all()
}

function toAgentMessage({
  id,
  agentId,
  sender,
  content,
  platform,
  createdAt,
}: MessageRow): AgentMessages['messages'][number] {
  return { id, agentId, sender, content, timestamp: createdAt.toISOString(), platform }
}

/** The daily counts are few rows, unlike the messages. */
function countMessages(db: Db, agentId: string): number {
  const total = sql<number>`coalesce(sum(${messageDays.asked} + ${messageDays.answered}), 0)`
  return db.select({ total }).from(messageDays).where(eq(messageDays.agentId, agentId)).get()?.total ?? 0
}

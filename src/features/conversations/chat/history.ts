import { and, desc, eq, isNull, lt, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { readPage } from '../../../db/pages/read-page.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { findAgent } from '../../agents/registry/agents.ts'
import { showAttachments } from './attachments.ts'
import type { ChatMessage, MessageList, MessageQuery } from './schemas.ts'
import { type MessageRow, messages } from './tables.ts'
import { summarizeTurns } from './turns/summaries.ts'

/** A page of a user's messages, oldest first, ending before the message `before`; with all agents unless one is named. */
export function listMessages(db: Db, user: SignedInUser, query: MessageQuery): MessageList {
  // Else the whole history of a stranger's agent would be searched for what cannot be there.
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
    // With the plus the index of the agent leads to them, where one is named.
    query.agentId
      ? and(sql`+${messages.userId} = ${userId}`, eq(messages.agentId, query.agentId))
      : eq(messages.userId, userId),
    query.sessionId === undefined ? undefined : isInSession(query.sessionId),
    query.replacedBy ? eq(messages.replacedBy, query.replacedBy) : isNull(messages.replacedBy),
    query.before ? lt(messages.sequence, sequenceOf(db, userId, query.before)) : undefined,
  )
}

const NOTHING: MessageList = { messages: [], count: 0, hasMore: false }

/** `none` is for what was said outside of sessions. */
function isInSession(sessionId: string): SQL {
  return sessionId === 'none' ? isNull(messages.sessionId) : eq(messages.sessionId, sessionId)
}

/** Nothing lies before a message that the user does not have. */
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

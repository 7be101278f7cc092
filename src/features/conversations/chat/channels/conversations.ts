import { and, count, desc, eq, ne } from 'drizzle-orm'
import { AppError } from '../../../../core/errors.ts'
import type { Db } from '../../../../db/open.ts'
import type { Principal } from '../../../../http/env.ts'
import { getAgent } from '../../../agents/registry/agents.ts'
import type { ConversationList, ConversationMessages } from '../schemas.ts'
import { listSessionMessages } from '../sessions.ts'
import { chatSessions, messages } from '../tables.ts'

const MAX_CONVERSATIONS = 200
const MAX_MESSAGES = 200

/**
 * Lists an agent's conversations on messengers, by mail and by webhook, latest activity first, whether it runs or not.
 * @throws AppError `not_found` for a missing agent or another user's.
 */
export function listConversations(db: Db, principal: Principal, id: string): ConversationList {
  const agent = getAgent(db, principal, id)
  const rows = db
    .select()
    .from(chatSessions)
    .where(and(eq(chatSessions.agentId, agent.id), ne(chatSessions.platform, 'web')))
    .orderBy(desc(chatSessions.lastActivity), desc(chatSessions.sequence))
    .limit(MAX_CONVERSATIONS)
    .all()
  const conversations = rows.map((row) => ({
    session: row.channelKey ?? row.id,
    channel: row.platform,
    messageCount: countMessages(db, row.id),
    createdAt: row.createdAt.toISOString(),
    lastActivity: row.lastActivity.toISOString(),
  }))
  return { conversations, untold: agent.kind === 'openclaw' && conversations.length === 0 ? 'openclaw' : null }
}

/**
 * Returns the newest messages of a conversation, oldest first.
 * @throws AppError `not_found` for a missing or another user's agent or conversation.
 */
export function readConversation(
  db: Db,
  principal: Principal,
  { id, session }: { id: string; session: string },
): ConversationMessages {
  const agent = getAgent(db, principal, id)
  const isThis = and(eq(chatSessions.agentId, agent.id), eq(chatSessions.channelKey, session))
  const row = db.select().from(chatSessions).where(isThis).get()
  if (!row) throw new AppError('not_found', 'Conversation not found')
  return {
    messages: listSessionMessages(db, row, MAX_MESSAGES).map(({ sender, content, createdAt }) => ({
      role: sender === 'user' ? 'user' : 'assistant',
      content,
      at: createdAt.toISOString(),
    })),
  }
}

function countMessages(db: Db, sessionId: string): number {
  const inSession = eq(messages.sessionId, sessionId)
  return db.select({ lines: count() }).from(messages).where(inSession).get()?.lines ?? 0
}

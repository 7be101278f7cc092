import { and, count, desc, eq } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import type { Principal } from '../../http/env.ts'
import { messages } from '../chat/tables.ts'
import { getAgent } from './list.ts'
import type { AgentMessages, AgentMessagesQuery } from './schemas.ts'

/**
 * What was said between an agent and its owner, newest first. All of it was written on the dashboard: what goes through
 * other channels stays with the agent.
 * @throws AppError `not_found` for a missing agent and for someone else's.
 */
export function listAgentMessages(db: Db, principal: Principal, id: string, query: AgentMessagesQuery): AgentMessages {
  const agent = getAgent(db, principal, id)
  // An index leads from user and agent to their messages.
  const isTheirs = and(agent.ownerId ? eq(messages.userId, agent.ownerId) : undefined, eq(messages.agentId, agent.id))
  const rows = db
    .select()
    .from(messages)
    .where(isTheirs)
    .orderBy(desc(messages.sequence))
    .limit(query.limit)
    .offset(query.offset)
    .all()
  return {
    messages: rows.map((row) => ({
      id: row.id,
      agentId: row.agentId,
      sender: row.sender,
      content: row.content,
      timestamp: row.createdAt.toISOString(),
      platform: 'web',
    })),
    total: db.select({ total: count() }).from(messages).where(isTheirs).get()?.total ?? 0,
    ...query,
    status: 'ok',
  }
}

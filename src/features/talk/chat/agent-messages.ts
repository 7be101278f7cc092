import { desc, eq, sql } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/list.ts'
import type { AgentMessages, AgentMessagesQuery } from '../../agents/registry/schemas.ts'
import { messageDays, messages } from './tables.ts'

/**
 * What was said between an agent and its owner, newest first. All of it was written on the dashboard: what goes through
 * other channels stays with the agent.
 * @throws AppError `not_found` for a missing agent and for someone else's.
 */
export function listAgentMessages(db: Db, principal: Principal, id: string, query: AgentMessagesQuery): AgentMessages {
  const agent = getAgent(db, principal, id)
  const rows = db
    .select()
    .from(messages)
    .where(eq(messages.agentId, agent.id))
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
    total: countMessages(db, agent.id),
    ...query,
    status: 'ok',
  }
}

/** Added up from the days, of which there are few. */
function countMessages(db: Db, agentId: string): number {
  const total = sql<number>`coalesce(sum(${messageDays.asked} + ${messageDays.answered}), 0)`
  return db.select({ total }).from(messageDays).where(eq(messageDays.agentId, agentId)).get()?.total ?? 0
}

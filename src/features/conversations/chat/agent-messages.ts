import { desc, eq, sql } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { AgentMessages, AgentMessagesQuery } from '../../agents/registry/schemas.ts'
import { type MessageRow, messageDays, messages } from './tables.ts'

/**
 * What was said to an agent and by it on every platform, newest first, whether the agent runs or not.
 * @throws AppError `not_found` for a missing agent and for someone else's.
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

/** Added up from the days, of which there are few. */
function countMessages(db: Db, agentId: string): number {
  const total = sql<number>`coalesce(sum(${messageDays.asked} + ${messageDays.answered}), 0)`
  return db.select({ total }).from(messageDays).where(eq(messageDays.agentId, agentId)).get()?.total ?? 0
}

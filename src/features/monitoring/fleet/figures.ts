import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { shownStatus } from '../../agents/registry/status.ts'
import { agents } from '../../agents/registry/tables.ts'
import { usageDays } from '../../ai/usage/tables.ts'
import { messageDays } from '../../conversations/chat/tables.ts'

/** What was said with an agent on the day that was joined. */
export const messagesOfDay = sql<number>`coalesce(${messageDays.asked} + ${messageDays.answered}, 0)`

/** Of each agent of a user its status, and what it did on a day (UTC): one look at each table, along its key. */
export function figuresOf(db: Db, ownerId: string, day: string, where?: SQL) {
  const costs = costsOf(db, ownerId, day)
  return db
    .select({
      id: agents.id,
      name: agents.name,
      status: shownStatus,
      messages: messagesOfDay,
      costMicroUsd: sql<number>`coalesce(${costs.microUsd}, 0)`,
      unpricedCalls: sql<number>`coalesce(${costs.unpriced}, 0)`,
    })
    .from(agents)
    .leftJoin(messageDays, and(eq(messageDays.agentId, agents.id), eq(messageDays.day, day)))
    .leftJoin(costs, eq(costs.agentId, agents.id))
    .where(and(eq(agents.ownerId, ownerId), where))
}

function costsOf(db: Db, userId: string, day: string) {
  return db
    .select({
      agentId: usageDays.agentId,
      microUsd: sql<number>`sum(${usageDays.costMicroUsd})`.as('micro_usd'),
      unpriced: sql<number>`sum(${usageDays.unpricedCalls})`.as('unpriced'),
    })
    .from(usageDays)
    .where(and(eq(usageDays.userId, userId), eq(usageDays.day, day)))
    .groupBy(usageDays.agentId)
    .as('costs')
}

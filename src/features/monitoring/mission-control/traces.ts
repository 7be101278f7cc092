import { desc, eq, inArray } from 'drizzle-orm'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { agents } from '../../agents/registry/tables.ts'
import { usageLogs } from '../../ai/usage/tables.ts'
import type { Trace } from './schemas.ts'

const MAX_TRACES = 20

/** The user's last 20 calls of models, newest first; none for nobody. */
export function listTraces(db: Db, user: SignedInUser | null): Trace[] {
  if (!user) return []
  const calls = db
    .select()
    .from(usageLogs)
    .where(eq(usageLogs.userId, user.id))
    .orderBy(desc(usageLogs.createdAt), desc(usageLogs.id))
    .limit(MAX_TRACES)
    .all()
  const names = namesOf(
    db,
    calls.map(({ agentId }) => agentId),
  )
  return calls.map((call) => toTrace(call, names.get(call.agentId) ?? call.agentId))
}

function namesOf(db: Db, ids: string[]): Map<string, string> {
  const rows = db
    .select({ id: agents.id, name: agents.name })
    .from(agents)
    .where(inArray(agents.id, [...new Set(ids)]))
    .all()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** A call is recorded when it ends. */
function toTrace(call: typeof usageLogs.$inferSelect, agentName: string): Trace {
  const endedAt = call.createdAt
  return {
    id: String(call.id),
    status: call.success ? 'completed' : 'failed',
    description: agentName ? `${agentName}: ${call.model}` : call.model,
    startedAt: new Date(endedAt.getTime() - (call.latencyMs ?? 0)).toISOString(),
    completedAt: endedAt.toISOString(),
    tokensUsed: call.inputTokens + call.outputTokens,
    costUSD: call.isUnpriced ? null : toUsd(call.costMicroUsd),
    estimated: call.estimated,
    model: call.model,
  }
}

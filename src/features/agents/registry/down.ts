import { and, eq, isNotNull, isNull, ne, or } from 'drizzle-orm'
import type { Tx } from '../../../db/open.ts'
import { agents } from './tables.ts'

/** Notes that an agent which should run does not, and why. One whose row says anything else is left alone. */
export function markDown(tx: Tx, agentId: string, reason: string, now: Date): void {
  const isNews = or(isNull(agents.downAt), isNull(agents.lastError), ne(agents.lastError, reason))
  const isUp = and(eq(agents.id, agentId), eq(agents.status, 'running'), isNull(agents.downAt))
  tx.update(agents).set({ downAt: now }).where(isUp).run()
  tx.update(agents)
    .set({ lastError: reason })
    .where(and(eq(agents.id, agentId), eq(agents.status, 'running'), isNews))
    .run()
}

/** Notes that it runs and answers again. */
export function markUp(tx: Tx, agentId: string): void {
  const isDown = and(eq(agents.id, agentId), isNotNull(agents.downAt))
  tx.update(agents).set({ downAt: null, lastError: null }).where(isDown).run()
}

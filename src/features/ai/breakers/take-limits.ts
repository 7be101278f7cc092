import { sql } from 'drizzle-orm'
import type { CountedKind } from '../../../core/agents/day-limits.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Base } from '../../base.ts'
import { findCaps, findToday, limitOf, listDayCounts } from './day-limits.ts'
import { forgetOldCounts, type ReachDeps, type Reached, reachLimit } from './reach-limit.ts'
import { agentDayCounts } from './tables.ts'

/**
 * Counts one of each of `kinds` for an agent, unless one of them is beyond its daily limit: then nothing is counted,
 * and the action that the owner set for that limit is performed. Concurrent calls cannot exceed a limit together.
 * @returns the limit that was reached; null when the agent may continue.
 */
export function takeLimits(
  deps: Base & ReachDeps,
  agentId: string,
  kinds: readonly CountedKind[],
): Promise<Reached | null> {
  return write(deps.db, (tx) => takeLimitsIn(deps, tx, agentId, kinds))
}

/** `takeLimits` in the caller's transaction. */
export function takeLimitsIn(deps: ReachDeps, tx: Tx, agentId: string, kinds: readonly CountedKind[]): Reached | null {
  const agent = getAgent(tx, { kind: 'operator' }, agentId)
  const caps = findCaps(tx, agentId)
  const day = findToday(tx, deps.clock, agentId)
  const counts = listDayCounts(tx, agentId, day)
  const isBeyond = (kind: CountedKind) => {
    const limit = limitOf(caps, kind)
    const { used = 0, extra = 0 } = counts.find((one) => one.kind === kind) ?? {}
    return limit !== null && used + 1 > limit + extra
  }
  const reached = kinds.find(isBeyond)
  if (reached !== undefined && caps) return reachLimit(deps, tx, { agent, caps, day }, reached)
  if (counts.length === 0) forgetOldCounts(tx, agentId, deps.clock.now())
  for (const kind of kinds) {
    const target = [agentDayCounts.agentId, agentDayCounts.day, agentDayCounts.kind]
    const set = { used: sql`${agentDayCounts.used} + 1` }
    tx.insert(agentDayCounts).values({ agentId, day, kind, used: 1 }).onConflictDoUpdate({ target, set }).run()
  }
  return null
}

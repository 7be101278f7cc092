import { eq, lt } from 'drizzle-orm'
import { type Clock, toDay } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { TellOwner } from '../../people/notices/tell.ts'
import type { RunningSums } from '../usage/running-sums.ts'
import { agentCaps, capAlerts } from './tables.ts'

/** Shares of a day's cap at which an agent's owner is told: before the wall, and at it. */
const PERCENTS = [80, 100] as const
const LOOK_MS = 60_000
const TEXTS: Readonly<Record<(typeof PERCENTS)[number], string>> = {
  80: 'It has used 80 % of what it may use of models in a day. It goes on until the limit; the day ends at midnight UTC.',
  100: 'It has used all that it may use of models in a day. Its calls are refused until midnight UTC, or until you raise the limit.',
}

export type CapAlertDeps = { db: Db; clock: Clock; tellOwner: TellOwner; agentSums: RunningSums }

export function capAlertsJob(deps: CapAlertDeps): RepeatingJob {
  return { name: 'breakers.alerts', everyMs: LOOK_MS, run: () => sendCapAlerts(deps) }
}

/** Tells the owners of agents that have used 80 or 100 % of what they may today; each share is told once a day. */
export async function sendCapAlerts({ db, clock, tellOwner, agentSums }: CapAlertDeps): Promise<void> {
  const day = toDay(clock.now())
  const reached = listReached({ db, agentSums })
  if (reached.length === 0) return
  await write(db, (tx) => {
    tx.delete(capAlerts).where(lt(capAlerts.day, day)).run()
    for (const { caps, userId, name, percent } of reached) {
      const { agentId } = caps
      const isNews = tx.insert(capAlerts).values({ agentId, day, percent }).onConflictDoNothing().run().changes > 0
      if (isNews) tellOwner(tx, { userId, agent: { id: agentId, name }, kind: 'cap_near', text: TEXTS[percent] })
    }
  })
}

/** Agents with an owner, whose use of today has reached a part of a cap that is told of. */
function listReached({ db, agentSums }: Pick<CapAlertDeps, 'db' | 'agentSums'>) {
  return db
    .select({ caps: agentCaps, userId: agents.ownerId, name: agents.name })
    .from(agentCaps)
    .innerJoin(agents, eq(agents.id, agentCaps.agentId))
    .all()
    .map((row) => ({ ...row, percent: highestOf(usedPercent(row.caps, agentSums.used(row.caps.agentId))) }))
    .flatMap(({ percent, userId, ...row }) =>
      percent === undefined || userId === null ? [] : [{ ...row, percent, userId }],
    )
}

function highestOf(percent: number): (typeof PERCENTS)[number] | undefined {
  return PERCENTS.findLast((share) => share <= percent)
}

function usedPercent(
  { tokensPerDay, costMicroUsdPerDay }: typeof agentCaps.$inferSelect,
  used: { tokens: number; costMicroUsd: number },
): number {
  const ofTokens = tokensPerDay === null ? 0 : (used.tokens / tokensPerDay) * 100
  const ofCost = costMicroUsdPerDay === null ? 0 : (used.costMicroUsd / costMicroUsdPerDay) * 100
  return Math.max(ofTokens, ofCost)
}

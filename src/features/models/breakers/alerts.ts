import { eq, lt } from 'drizzle-orm'
import { type Clock, toDay } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { agents } from '../../agents/registry/tables.ts'
import { enqueueMail } from '../../people/mails/send-mail.ts'
import { users } from '../../people/users/tables.ts'
import type { RunningSums } from '../usage/running-sums.ts'
import { agentCaps, capAlerts } from './tables.ts'

/** Shares of a day's cap at which an agent's owner is told: before the wall, and at it. */
const PERCENTS = [80, 100] as const
const LOOK_MS = 60_000

export type CapAlertDeps = { db: Db; clock: Clock; enqueue: Enqueue; agentSums: RunningSums }

export function capAlertsJob(deps: CapAlertDeps): RepeatingJob {
  return { name: 'breakers.alerts', everyMs: LOOK_MS, run: () => sendCapAlerts(deps) }
}

/** Mails the owners of agents that have used 80 or 100 % of what they may today; each share is told once a day. */
export async function sendCapAlerts({ db, clock, enqueue, agentSums }: CapAlertDeps): Promise<void> {
  const day = toDay(clock.now())
  const reached = db
    .select({ caps: agentCaps, userId: users.id, address: users.email })
    .from(agentCaps)
    .innerJoin(agents, eq(agents.id, agentCaps.agentId))
    .innerJoin(users, eq(users.id, agents.ownerId))
    .all()
    .map((row) => ({ ...row, percent: highestOf(usedPercent(row.caps, agentSums.used(row.caps.agentId))) }))
    .flatMap(({ percent, ...row }) => (percent === undefined ? [] : [{ ...row, percent }]))
  if (reached.length === 0) return
  await write(db, (tx) => {
    tx.delete(capAlerts).where(lt(capAlerts.day, day)).run()
    for (const { caps, userId, address, percent } of reached) {
      const row = { agentId: caps.agentId, day, percent }
      const isNews = tx.insert(capAlerts).values(row).onConflictDoNothing().run().changes > 0
      if (isNews) enqueueMail(tx, enqueue, { mail: `agent-cap-${percent}`, userId, address })
    }
  })
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

import { eq, lt } from 'drizzle-orm'
import type { LimitKind } from '../../../core/agents/day-limits.ts'
import { addDays, toDay } from '../../../core/clock.ts'
import { toLocalDay } from '../../../core/local-day.ts'
import type { Db } from '../../../db/open.ts'
import { prepareOnce } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { RunningSums } from '../usage/quota.ts'
import type { Breakers } from './breakers.ts'
import { actionOf, type CapsRow, type DayCountRow, extraOf, listDayCounts } from './day-limits.ts'
import { type ReachDeps, reachLimit } from './reach-limit.ts'
import { agentCaps, capAlerts } from './tables.ts'

/** Share of the daily cap at which the owner is warned. */
const NEAR_PERCENT = 80
const LOOK_MS = 2000
const NEAR = {
  kind: 'cap_near',
  percent: NEAR_PERCENT,
  text: `The agent has used ${NEAR_PERCENT}% of its daily model limit. It keeps working until the limit; usage resets at midnight.`,
} as const
const REACHED = {
  kind: 'cap_reached',
  percent: 100,
  text: 'The agent has reached its daily model limit. Further calls are rejected until midnight, or until you raise the limit.',
} as const

type CapAlertDeps = {
  db: Db
  agentSums: RunningSums
  breakers: Pick<Breakers, 'takeRefused'>
} & ReachDeps

export function capAlertsJob(deps: CapAlertDeps): RepeatingJob {
  return { name: 'breakers.alerts', everyMs: LOOK_MS, run: () => sendCapAlerts(deps) }
}

/**
 * Notifies the owners of agents that are near their daily limit or have reached it, each once a day. A limit counts as
 * reached when it is used up and when it refuses a call.
 */
export async function sendCapAlerts(deps: CapAlertDeps): Promise<void> {
  const { db, clock, sendNotice } = deps
  const news = listReached(deps)
  if (news.length === 0) return
  await write(db, (tx) => {
    tx.delete(capAlerts)
      .where(lt(capAlerts.day, toDay(addDays(clock.now(), -KEPT_DAYS))))
      .run()
    for (const { caps, day, agent, userId, alert, limit } of news) {
      const { kind, percent, text } = alert
      const row = { agentId: agent.id, day, percent }
      const isNews = tx.insert(capAlerts).values(row).onConflictDoNothing().run().changes > 0
      if (!isNews) continue
      const acts = percent === REACHED.percent && actionOf(caps, limit) !== 'pause'
      if (acts) reachLimit(deps, tx, { agent: { ...agent, ownerId: userId }, caps, day }, limit)
      else sendNotice(tx, { userId, agent, kind, text })
    }
  })
}

const KEPT_DAYS = 2

const sentAlerts = prepareOnce((db) => db.select().from(capAlerts).prepare())

const cappedAgents = prepareOnce((db) =>
  db
    .select({ caps: agentCaps, userId: agents.ownerId, name: agents.name, timeZone: users.timeZone })
    .from(agentCaps)
    .innerJoin(agents, eq(agents.id, agentCaps.agentId))
    .innerJoin(users, eq(users.id, agents.ownerId))
    .prepare(),
)

/** Lists what owners have not been notified of today. */
function listReached({ db, clock, agentSums, breakers }: CapAlertDeps) {
  const refused = breakers.takeRefused()
  const sent = sentAlerts(db).all()
  const isSent = new Set(sent.map(({ agentId, day, percent }) => `${agentId} ${day} ${percent}`))
  return cappedAgents(db)
    .all()
    .flatMap(({ caps, userId, name, timeZone }) => {
      const id = caps.agentId
      const used = agentSums.used(id)
      const least = usedPercent(caps, [], used)
      if (Math.max(least.usd, least.tokens) < NEAR.percent && !refused.has(id)) return []
      const day = toLocalDay(clock.now(), timeZone)
      const shares = usedPercent(caps, listDayCounts(db, id, day), used)
      const percent = refused.has(id) ? REACHED.percent : Math.max(shares.usd, shares.tokens)
      const alert = [REACHED, NEAR].find((each) => percent >= each.percent)
      if (!alert || userId === null || isSent.has(`${id} ${day} ${alert.percent}`)) return []
      return [{ caps, day, agent: { id, name }, userId, alert, limit: findReached(caps, shares) }]
    })
}

/** A call can be refused before anything was used, so only limits that are set are compared. */
function findReached(
  { tokensPerDay, costMicroUsdPerDay }: CapsRow,
  shares: Record<'usd' | 'tokens', number>,
): LimitKind {
  if (costMicroUsdPerDay === null) return 'tokens'
  return tokensPerDay === null || shares.usd >= shares.tokens ? 'usd' : 'tokens'
}

function usedPercent(
  { tokensPerDay, costMicroUsdPerDay }: CapsRow,
  counts: readonly DayCountRow[],
  used: { tokens: number; costMicroUsd: number },
): { usd: number; tokens: number } {
  const shareOf = (amount: number, limit: number | null, extra: number) =>
    limit === null ? 0 : (amount / (limit + extra)) * 100
  return {
    tokens: shareOf(used.tokens, tokensPerDay, extraOf(counts, 'tokens')),
    usd: shareOf(used.costMicroUsd, costMicroUsdPerDay, extraOf(counts, 'usd')),
  }
}

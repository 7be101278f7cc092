import { eq, lt, sql } from 'drizzle-orm'
import { type Clock, toDay } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { prepareOnce } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { RunningSums } from '../usage/quota.ts'
import type { Breakers } from './breakers.ts'
import { agentCaps, capAlerts } from './tables.ts'

/** Share of the daily cap at which the owner is warned. */
const NEAR_PERCENT = 80
const LOOK_MS = 2000
const NEAR = {
  kind: 'cap_near',
  percent: NEAR_PERCENT,
  text: `The agent has used ${NEAR_PERCENT}% of its daily model limit. It keeps working until the limit; usage resets at midnight UTC.`,
} as const
const REACHED = {
  kind: 'cap_reached',
  percent: 100,
  text: 'The agent has reached its daily model limit. Further calls are rejected until midnight UTC, or until you raise the limit.',
} as const

export type CapAlertDeps = {
  db: Db
  clock: Clock
  sendNotice: SendNotice
  agentSums: RunningSums
  breakers: Pick<Breakers, 'takeRefused'>
}

export function capAlertsJob(deps: CapAlertDeps): RepeatingJob {
  return { name: 'breakers.alerts', everyMs: LOOK_MS, run: () => sendCapAlerts(deps) }
}

/**
 * Notifies the owners of agents that are near their daily limit or have reached it, each once a day. A limit counts as
 * reached when it is used up and when it refuses a call.
 */
export async function sendCapAlerts(deps: CapAlertDeps): Promise<void> {
  const { db, clock, sendNotice } = deps
  const day = toDay(clock.now())
  const news = listReached(deps, day)
  if (news.length === 0) return
  await write(db, (tx) => {
    tx.delete(capAlerts).where(lt(capAlerts.day, day)).run()
    for (const { agent, userId, alert } of news) {
      const { kind, percent, text } = alert
      const row = { agentId: agent.id, day, percent }
      const isNews = tx.insert(capAlerts).values(row).onConflictDoNothing().run().changes > 0
      if (isNews) sendNotice(tx, { userId, agent, kind, text })
    }
  })
}

const sentAlerts = prepareOnce((db) =>
  db
    .select()
    .from(capAlerts)
    .where(eq(capAlerts.day, sql.placeholder('day')))
    .prepare(),
)

const cappedAgents = prepareOnce((db) =>
  db
    .select({ caps: agentCaps, userId: agents.ownerId, name: agents.name })
    .from(agentCaps)
    .innerJoin(agents, eq(agents.id, agentCaps.agentId))
    .prepare(),
)

/** Lists what owners have not been notified of today. */
function listReached({ db, agentSums, breakers }: CapAlertDeps, day: string) {
  const refused = breakers.takeRefused()
  const sent = sentAlerts(db).all({ day })
  const isSent = new Set(sent.map(({ agentId, percent }) => `${agentId} ${percent}`))
  return cappedAgents(db)
    .all()
    .flatMap(({ caps, userId, name }) => {
      const id = caps.agentId
      const percent = refused.has(id) ? REACHED.percent : usedPercent(caps, agentSums.used(id))
      const alert = [REACHED, NEAR].find((each) => percent >= each.percent)
      if (!alert || userId === null || isSent.has(`${id} ${alert.percent}`)) return []
      return [{ agent: { id, name }, userId, alert }]
    })
}

function usedPercent(
  { tokensPerDay, costMicroUsdPerDay }: typeof agentCaps.$inferSelect,
  used: { tokens: number; costMicroUsd: number },
): number {
  const ofTokens = tokensPerDay === null ? 0 : (used.tokens / tokensPerDay) * 100
  const ofCost = costMicroUsdPerDay === null ? 0 : (used.costMicroUsd / costMicroUsdPerDay) * 100
  return Math.max(ofTokens, ofCost)
}

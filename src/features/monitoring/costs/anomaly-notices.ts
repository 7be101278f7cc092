import { and, eq, gte, ne, sql } from 'drizzle-orm'
import { type Clock, toDay } from '../../../core/clock.ts'
import { spareTurn } from '../../../core/concurrency/timing.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { notices } from '../../accounts/notifications/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import { DIRECT, usageDays } from '../../ai/usage/tables.ts'
import { listAnomalies, MIN_MICRO_USD } from './anomalies.ts'

const LOOK_MS = 5 * 60_000

type NoticeDeps = { db: Db; clock: Clock; sendNotice: SendNotice }

export function anomalyNoticesJob(deps: NoticeDeps): RepeatingJob {
  return { name: 'costs.anomalies', everyMs: LOOK_MS, run: () => sendAnomalyNotices(deps) }
}

/** Notifies owners of agents that cost much more today than usual, once a day for each agent. */
export async function sendAnomalyNotices({ db, clock, sendNotice }: NoticeDeps): Promise<void> {
  const now = clock.now()
  for (const userId of listSpenders(db, now)) {
    await spareTurn()
    const anomalies = listAnomalies(db, userId, now)
    if (anomalies.every(({ agentId }) => isNotified(db, userId, agentId, now))) continue
    await write(db, (tx) => {
      for (const { agentId, costUsd, medianUsd, factor } of anomalies) {
        const agent = findAgent(tx, userId, agentId)
        if (!agent || isNotified(tx, userId, agentId, now)) continue
        const text = `The agent has cost $${costUsd.toFixed(2)} today, ${factor} times its median of $${medianUsd.toFixed(2)} a day.`
        sendNotice(tx, { userId, agent, kind: 'cost_unusual', text })
      }
    })
  }
}

/** Lists the users with an agent whose cost today is more than noise. */
function listSpenders(db: Db, now: Date): string[] {
  const { userId, day, agentId, costMicroUsd } = usageDays
  const rows = db
    .select({ userId })
    .from(usageDays)
    .where(and(eq(day, toDay(now)), ne(agentId, DIRECT)))
    .groupBy(userId, agentId)
    .having(gte(sql`sum(${costMicroUsd})`, MIN_MICRO_USD))
    .all()
  return [...new Set(rows.map((row) => row.userId))]
}

function isNotified(db: Db | Tx, userId: string, agentId: string, now: Date): boolean {
  const since = new Date(`${toDay(now)}T00:00:00Z`)
  const isThis = and(eq(notices.userId, userId), eq(notices.agentId, agentId), eq(notices.kind, 'cost_unusual'))
  return (
    db
      .select({ id: notices.id })
      .from(notices)
      .where(and(isThis, gte(notices.createdAt, since)))
      .get() !== undefined
  )
}

function findAgent(tx: Tx, userId: string, agentId: string) {
  const { id, name, ownerId } = agents
  return tx
    .select({ id, name })
    .from(agents)
    .where(and(eq(id, agentId), eq(ownerId, userId)))
    .get()
}

import { and, eq, gte, inArray, ne, sql } from 'drizzle-orm'
import { addDays, type Clock, toDay } from '../../../core/clock.ts'
import { spareTurn } from '../../../core/concurrency/timing.ts'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { agents } from '../../agents/registry/tables.ts'
import { DIRECT, usageDays, usageLogs } from '../../ai/usage/tables.ts'
import { messages } from '../../conversations/chat/tables.ts'
import type { CostAnomalies } from './schemas.ts'

const DAYS = 7
const FACTOR = 3
/** Days below one cent are noise. */
export const MIN_MICRO_USD = 10_000
const HOUR_MS = 3_600_000

/** Reports agents that cost much more today than usual, and the cost of agents in hours without messages to them. */
export async function getCostAnomalies(deps: { db: Db; clock: Clock }, userId: string): Promise<CostAnomalies> {
  const { db, clock } = deps
  const now = clock.now()
  const day = toDay(now)
  const anomalies = listAnomalies(db, userId, now)
  const idle = await listIdleCosts(db, userId, now)
  const ids = [...new Set([...anomalies, ...idle].map(({ agentId }) => agentId))]
  const rows = db.select({ id: agents.id, name: agents.name }).from(agents).where(inArray(agents.id, ids)).all()
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  const withName = <Row extends { agentId: string }>(row: Row) => ({
    ...row,
    agentName: names.get(row.agentId) ?? null,
  })
  return { day, anomalies: anomalies.map(withName), idle: idle.map(withName) }
}

/** Lists a user's agents that cost more than 3 times their median of the 7 days before. */
export function listAnomalies(
  db: Db,
  userId: string,
  now: Date,
): Omit<CostAnomalies['anomalies'][number], 'agentName'>[] {
  const { agentId, day } = usageDays
  const costs = db
    .select({ agentId, day, costMicroUsd: sql<number>`sum(${usageDays.costMicroUsd})` })
    .from(usageDays)
    .where(and(eq(usageDays.userId, userId), gte(day, toDay(addDays(now, -DAYS))), ne(agentId, DIRECT)))
    .groupBy(agentId, day)
    .all()
  return [...Map.groupBy(costs, (row) => row.agentId)]
    .flatMap(([id, days]) => {
      const today = days.find((row) => row.day === toDay(now))?.costMicroUsd ?? 0
      const usual = medianOf(days.filter((row) => row.day !== toDay(now)).map((row) => row.costMicroUsd))
      if (today < MIN_MICRO_USD || usual === 0 || today <= usual * FACTOR) return []
      const factor = Math.round((today / usual) * 10) / 10
      return [{ agentId: id, costUsd: toUsd(today), medianUsd: toUsd(usual), factor }]
    })
    .sort((one, other) => other.costUsd - one.costUsd)
}

/** Returns the median over 7 days, of which those without a row cost nothing. */
function medianOf(costs: readonly number[]): number {
  const days = [...costs, ...Array<number>(Math.max(0, DAYS - costs.length)).fill(0)].sort((one, other) => one - other)
  return days[Math.floor(days.length / 2)] ?? 0
}

type IdleCost = Omit<CostAnomalies['idle'][number], 'agentName'>

/** Reads a day at a time, so that many calls block nothing. */
async function listIdleCosts(db: Db, userId: string, now: Date): Promise<IdleCost[]> {
  const sums = new Map<string, { costMicroUsd: number; idleMicroUsd: number; idleCalls: number }>()
  for (let ago = 0; ago < DAYS; ago++) {
    await spareTurn()
    const [from, until] = [addDays(now, -ago - 1), addDays(now, -ago)]
    const busy = listBusyHours(db, userId, from, until)
    for (const { agentId, hour, costMicroUsd, calls } of listHours(db, userId, from, until)) {
      const sum = sums.get(agentId) ?? { costMicroUsd: 0, idleMicroUsd: 0, idleCalls: 0 }
      sums.set(agentId, sum)
      sum.costMicroUsd += costMicroUsd
      if (busy.has(`${agentId} ${hour}`)) continue
      sum.idleMicroUsd += costMicroUsd
      sum.idleCalls += calls
    }
  }
  return [...sums]
    .filter(([, { idleCalls }]) => idleCalls > 0)
    .map(([agentId, { costMicroUsd, idleMicroUsd, idleCalls }]) => {
      return { agentId, costUsd: toUsd(costMicroUsd), idleCostUsd: toUsd(idleMicroUsd), idleCalls }
    })
    .sort((one, other) => other.idleCostUsd - one.idleCostUsd)
}

function listHours(db: Db, userId: string, from: Date, until: Date) {
  const { agentId, createdAt, costMicroUsd } = usageLogs
  const hour = sql<number>`${createdAt} / ${sql.raw(String(HOUR_MS))}`
  const cost = sql<number>`sum(${costMicroUsd})`
  return db
    .select({ agentId, hour, costMicroUsd: cost, calls: sql<number>`count(*)` })
    .from(usageLogs)
    .where(
      and(
        eq(usageLogs.userId, userId),
        sql`${createdAt} >= ${from.getTime()} AND ${createdAt} < ${until.getTime()}`,
        ne(agentId, DIRECT),
      ),
    )
    .groupBy(agentId, hour)
    .all()
}

/** Returns the agents and hours with a message to the agent in this hour or the one before, as an answer may take a while. */
function listBusyHours(db: Db, userId: string, from: Date, until: Date): Set<string> {
  const { agentId, createdAt, sender } = messages
  const hour = sql<number>`${createdAt} / ${sql.raw(String(HOUR_MS))}`
  const since = from.getTime() - 2 * HOUR_MS
  const rows = db
    .selectDistinct({ agentId, hour })
    .from(messages)
    .where(
      and(
        sql`${createdAt} >= ${since} AND ${createdAt} < ${until.getTime()}`,
        eq(messages.userId, userId),
        eq(sender, 'user'),
      ),
    )
    .all()
  return new Set(rows.flatMap((row) => [`${row.agentId} ${row.hour}`, `${row.agentId} ${row.hour + 1}`]))
}

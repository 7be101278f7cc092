import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { agents } from '../../agents/registry/tables.ts'
import { type CostSum, toShownCost } from './costs.ts'
import { inDaySlices, listDays } from './day-slices.ts'
import { type KeyPart, listKeyParts } from './key-usage.ts'
import type { UsageByDay } from './schemas.ts'
import { DIRECT, usageDays, usageKeyDays } from './tables.ts'

type Sums = { calls: number; tokens: number } & CostSum
type DayRow = Sums & Omit<UsageByDay['rows'][number], 'costUsd'>

/** Lists the usage of a user's agents and keys by model and day (UTC) up to today, oldest first. */
export async function listUsageByDay(
  { db, clock }: { db: Db; clock: Clock },
  userId: string,
  days: number,
): Promise<UsageByDay> {
  const span = { last: clock.now(), days }
  const rows: DayRow[] = []
  await inDaySlices(usageDays.day, span, (isInSlice) => void rows.push(...listAgentParts(db, userId, isInSlice)))
  const ofKeys: KeyPart[] = []
  await inDaySlices(usageKeyDays.day, span, (isInSlice) => void ofKeys.push(...listKeyParts(db, userId, isInSlice)))
  const divided = divideByKey(rows, ofKeys).sort((one, other) => one.day.localeCompare(other.day))
  return {
    days: listDays(span),
    rows: divided.map(toShownCost),
  }
}

function listAgentParts(db: Db, userId: string, isInSlice: SQL): DayRow[] {
  const { day, agentId, model } = usageDays
  return db
    .select({
      day,
      agentId,
      agentName: agents.name,
      keyId: sql<null>`NULL`,
      keyName: sql<null>`NULL`,
      model,
      calls: sql<number>`sum(${usageDays.calls})`,
      tokens: sql<number>`sum(${usageDays.inputTokens} + ${usageDays.outputTokens})`,
      costMicroUsd: sql<number>`sum(${usageDays.costMicroUsd})`,
      unpricedCalls: sql<number>`sum(${usageDays.unpricedCalls})`,
    })
    .from(usageDays)
    .leftJoin(agents, eq(agents.id, agentId))
    .where(and(eq(usageDays.userId, userId), isInSlice))
    .groupBy(day, agentId, model)
    .all()
}

/** Splits the usage without an agent into the shares of the keys and the remainder. */
function divideByKey(rows: readonly DayRow[], ofKeys: readonly KeyPart[]): DayRow[] {
  const parts = Map.groupBy(ofKeys, ({ day, model }) => `${day}\n${model}`)
  return rows.flatMap((row) => {
    const keys = row.agentId === DIRECT ? (parts.get(`${row.day}\n${row.model}`) ?? []) : []
    if (keys.length === 0) return [row]
    const left = (figure: keyof Sums) => Math.max(0, row[figure] - keys.reduce((sum, key) => sum + key[figure], 0))
    const cost = { costMicroUsd: left('costMicroUsd'), unpricedCalls: left('unpricedCalls') }
    const rest = { ...row, calls: left('calls'), tokens: left('tokens'), ...cost }
    return [...keys.map((key) => ({ ...row, ...key })), ...(rest.calls > 0 ? [rest] : [])]
  })
}

import { and, eq, sql } from 'drizzle-orm'
import { addDays, type Clock, toDay } from '../../../core/clock.ts'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { agents } from '../../agents/registry/tables.ts'
import { inDaySlices } from './day-slices.ts'
import type { UsageByDay } from './schemas.ts'
import { usageDays } from './tables.ts'

/** What a user's agents used of each model on each of the last days (UTC), today included, oldest first. */
export async function listUsageByDay(
  { db, clock }: { db: Db; clock: Clock },
  userId: string,
  days: number,
): Promise<UsageByDay> {
  const now = clock.now()
  const rows: UsageByDay['rows'] = []
  const { day, agentId, model } = usageDays
  await inDaySlices(day, { last: now, days }, (isInSlice) => {
    const slice = db
      .select({
        day,
        agentId,
        agentName: agents.name,
        model,
        calls: sql<number>`sum(${usageDays.calls})`,
        tokens: sql<number>`sum(${usageDays.inputTokens} + ${usageDays.outputTokens})`,
        costMicroUsd: sql<number>`sum(${usageDays.costMicroUsd})`,
      })
      .from(usageDays)
      .leftJoin(agents, eq(agents.id, agentId))
      .where(and(eq(usageDays.userId, userId), isInSlice))
      .groupBy(day, agentId, model)
      .all()
    for (const { costMicroUsd, ...row } of slice) rows.push({ ...row, costUsd: toUsd(costMicroUsd) })
  })
  rows.sort((one, other) => one.day.localeCompare(other.day))
  return { days: Array.from({ length: days }, (_, index) => toDay(addDays(now, index + 1 - days))), rows }
}

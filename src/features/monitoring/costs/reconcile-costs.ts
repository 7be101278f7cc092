import { and, eq, gt, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { inDaySlices } from '../../ai/usage/day-slices.ts'
import { usageDays } from '../../ai/usage/tables.ts'
import type { Reconciliation } from './schemas.ts'

type Sums = { calls: number; reportedMicroUsd: number; listMicroUsd: number }
type ModelSums = Sums & { model: string; provider: string }

const NOTHING: Sums = { calls: 0, reportedMicroUsd: 0, listMicroUsd: 0 }

/** Compares the cost that providers reported with the cost by list prices, by model, largest difference first. */
export async function reconcileCosts(
  { db, clock }: { db: Db; clock: Clock },
  userId: string,
  days: number,
): Promise<Reconciliation> {
  const rows: ModelSums[] = []
  const span = { last: clock.now(), days }
  await inDaySlices(usageDays.day, span, (isInSlice) => void rows.push(...listSums(db, userId, isInSlice)))
  const models = [...Map.groupBy(rows, ({ model, provider }) => `${provider}\n${model}`).values()]
    .flatMap(([first, ...others]) => (first ? [{ ...first, ...others.reduce<Sums>(add, first) }] : []))
    .sort((one, other) => Math.abs(gapOf(other)) - Math.abs(gapOf(one)))
  return {
    total: toShown(rows.reduce<Sums>(add, NOTHING)),
    models: models.map((row) => ({ model: row.model, provider: row.provider, ...toShown(row) })),
  }
}

function listSums(db: Db, userId: string, isInSlice: SQL): ModelSums[] {
  const { model, provider, reportedCalls, reportedCostMicroUsd, listCostMicroUsd } = usageDays
  return db
    .select({
      model,
      provider,
      calls: sql<number>`sum(${reportedCalls})`,
      reportedMicroUsd: sql<number>`sum(${reportedCostMicroUsd})`,
      listMicroUsd: sql<number>`sum(${listCostMicroUsd})`,
    })
    .from(usageDays)
    .where(and(eq(usageDays.userId, userId), isInSlice, gt(reportedCalls, 0)))
    .groupBy(model, provider)
    .all()
}

function add(one: Sums, other: Sums): Sums {
  return {
    calls: one.calls + other.calls,
    reportedMicroUsd: one.reportedMicroUsd + other.reportedMicroUsd,
    listMicroUsd: one.listMicroUsd + other.listMicroUsd,
  }
}

function gapOf({ reportedMicroUsd, listMicroUsd }: Sums): number {
  return reportedMicroUsd - listMicroUsd
}

function toShown(sums: Sums) {
  const { calls, reportedMicroUsd, listMicroUsd } = sums
  return {
    calls,
    reportedUsd: toUsd(reportedMicroUsd),
    listUsd: toUsd(listMicroUsd),
    gapUsd: toUsd(gapOf(sums)),
  }
}

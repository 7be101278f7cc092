import type { UsageByDay } from '../../src/features/ai/usage/schemas.ts'
import { forecastSum } from './figures.ts'

type Row = UsageByDay['rows'][number]
/** `unpricedCalls` are missing from `costUsd`, which is null when no cost is known. */
export type CostSums = { calls: number; tokens: number; costUsd: number | null; unpricedCalls?: number | undefined }
export const DIMENSIONS = ['agent', 'model', 'key'] as const
export type Dimension = (typeof DIMENSIONS)[number]
/** The filters; empty for everything. */
export type Chosen = { [Each in Dimension]?: string | undefined }
/** `id` is null for calls without an API key. */
export type Share = CostSums & { id: string | null; name: string }

/** Parts follow the order of `names`; the last one is all others. */
type StackedDay = { day: string; parts: number[] }
export type Stack = { names: string[]; days: StackedDay[] }

/** The top N get a colour; the rest are grouped as “others”. */
const STACKED = 5

export function chooseRows(rows: readonly Row[], { agent, model, key }: Chosen): Row[] {
  return rows.filter(
    (row) => (!agent || row.agentId === agent) && (!model || row.model === model) && (!key || row.keyId === key),
  )
}

export function addUp(rows: readonly CostSums[]): CostSums {
  const sums = { calls: 0, tokens: 0, costUsd: 0, unpricedCalls: 0 }
  for (const row of rows) {
    sums.calls += row.calls
    sums.tokens += row.tokens
    sums.costUsd += row.costUsd ?? 0
    sums.unpricedCalls += row.unpricedCalls ?? 0
  }
  // Costs are millionths of a dollar; rounds away floating-point residue.
  const costUsd = Math.round(sums.costUsd * 1e6) / 1e6
  const { unpricedCalls, ...counts } = sums
  if (unpricedCalls === 0) return { ...counts, costUsd }
  return { ...counts, costUsd: costUsd === 0 ? null : costUsd, unpricedCalls }
}

export function toShares(rows: readonly Row[], dimension: Dimension): Share[] {
  return [...Map.groupBy(rows, (row) => idOf(row, dimension))]
    .map(([id, group]) => ({ id, name: group[0] ? nameOf(group[0], dimension) : '', ...addUp(group) }))
    .sort((one, other) => (other.costUsd ?? 0) - (one.costUsd ?? 0) || other.tokens - one.tokens)
}

/** Splits the cost of each day among the most expensive agents, models or keys. */
export function toStack({ days, rows }: UsageByDay, dimension: Dimension): Stack {
  const shares = toShares(rows, dimension)
  const shown = shares.slice(0, STACKED)
  const isMore = shares.length > shown.length
  const places = new Map(shown.map(({ id }, index) => [id, index]))
  const byDay = new Map(days.map((day) => [day, new Array<number>(shown.length + (isMore ? 1 : 0)).fill(0)]))
  for (const row of rows) {
    const parts = byDay.get(row.day)
    const place = places.get(idOf(row, dimension)) ?? shown.length
    if (parts) parts[place] = (parts[place] ?? 0) + (row.costUsd ?? 0)
  }
  return {
    names: [
      ...toUnique(shown.map(({ name }) => name)),
      ...(isMore ? [`${shares.length - shown.length} other${shares.length - shown.length === 1 ? '' : 's'}`] : []),
    ],
    days: [...byDay].map(([day, parts]) => ({ day, parts })),
  }
}

/** Names may repeat, for example those of deleted keys. */
function toUnique(names: readonly string[]): string[] {
  return names.map((name, index) => {
    const before = names.slice(0, index).filter((other) => other === name).length
    return before === 0 ? name : `${name} (${before + 1})`
  })
}

/** Returns the month's cost so far (UTC) and its projection; null while too little is known. */
export function forecastMonth(rows: readonly Row[], now: Date): { soFar: number; atEnd: number } | null {
  const month = now.toISOString().slice(0, 7)
  const soFar = addUp(rows.filter(({ day }) => day.startsWith(month))).costUsd ?? 0
  const atEnd = forecastSum(soFar, now)
  return atEnd === null ? null : { soFar, atEnd }
}

function idOf(row: Row, dimension: Dimension): string | null {
  if (dimension === 'key') return row.keyId
  return dimension === 'agent' ? row.agentId : row.model
}

function nameOf(row: Row, dimension: Dimension): string {
  if (dimension === 'model') return row.model
  if (dimension === 'key') return row.keyId === null ? 'No API key' : (row.keyName ?? 'Deleted key')
  return row.agentId === 'direct' ? 'No agent' : (row.agentName ?? row.agentId)
}

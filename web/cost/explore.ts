import type { UsageByDay } from '../../src/features/models/usage/schemas.ts'

type Row = UsageByDay['rows'][number]
export type Sums = { calls: number; tokens: number; costUsd: number }
export type Dimension = 'agent' | 'model'
/** What is looked at: all, or one agent, or one model, or one with the other. */
export type Chosen = { agent?: string | undefined; model?: string | undefined }
/** One agent or model with what it used; `id` is what is chosen by. */
export type Share = Sums & { id: string; name: string }

/** Of one day, what each of the biggest used, in the order of `names`, and all others together. */
export type StackedDay = { day: string; parts: number[] }
export type Stack = { names: string[]; days: StackedDay[] }

/** So many have a colour of their own; the smaller ones are one. */
const STACKED = 5

/** The rows of what is chosen. */
export function chooseRows(rows: readonly Row[], { agent, model }: Chosen): Row[] {
  return rows.filter((row) => (!agent || row.agentId === agent) && (!model || row.model === model))
}

export function addUp(rows: readonly Sums[]): Sums {
  const sums = { calls: 0, tokens: 0, costUsd: 0 }
  for (const row of rows) {
    sums.calls += row.calls
    sums.tokens += row.tokens
    sums.costUsd += row.costUsd
  }
  // Costs are whole millionths of a dollar: what adding them as fractions leaves over is no cost.
  return { ...sums, costUsd: Math.round(sums.costUsd * 1e6) / 1e6 }
}

/** What each agent or model used, the most expensive first. */
export function toShares(rows: readonly Row[], dimension: Dimension): Share[] {
  return [...Map.groupBy(rows, (row) => idOf(row, dimension))]
    .map(([id, group]) => ({ id, name: group[0] ? nameOf(group[0], dimension) : id, ...addUp(group) }))
    .sort((one, other) => other.costUsd - one.costUsd || other.tokens - one.tokens)
}

/** Each day divided among the most expensive agents or models, by cost. */
export function toStack({ days, rows }: UsageByDay, dimension: Dimension): Stack {
  const shares = toShares(rows, dimension)
  const shown = shares.slice(0, STACKED)
  const isMore = shares.length > shown.length
  const places = new Map(shown.map(({ id }, index) => [id, index]))
  const byDay = new Map(days.map((day) => [day, new Array<number>(shown.length + (isMore ? 1 : 0)).fill(0)]))
  for (const row of rows) {
    const parts = byDay.get(row.day)
    const place = places.get(idOf(row, dimension)) ?? shown.length
    if (parts) parts[place] = (parts[place] ?? 0) + row.costUsd
  }
  return {
    names: [...shown.map(({ name }) => name), ...(isMore ? [`${shares.length - shown.length} others`] : [])],
    days: [...byDay].map(([day, parts]) => ({ day, parts })),
  }
}

/** What the month will have cost when it goes on as it did so far, today counted as the part of it that is over (UTC). */
export function forecastMonth(rows: readonly Row[], now: Date): { soFar: number; atEnd: number } | null {
  const month = now.toISOString().slice(0, 7)
  const soFar = addUp(rows.filter(({ day }) => day.startsWith(month))).costUsd
  const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)
  const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  const share = (now.getTime() - first) / (end - first)
  // Of the first day alone nothing can be said.
  if (now.getTime() - first < 86_400_000 || soFar === 0) return null
  return { soFar, atEnd: soFar / share }
}

function idOf(row: Row, dimension: Dimension): string {
  return dimension === 'agent' ? row.agentId : row.model
}

function nameOf(row: Row, dimension: Dimension): string {
  if (dimension === 'model') return row.model
  return row.agentId === 'direct' ? 'Without an agent' : (row.agentName ?? row.agentId)
}

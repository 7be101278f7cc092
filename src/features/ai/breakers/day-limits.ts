import { and, eq, gte } from 'drizzle-orm'
import { COUNTED_KINDS, type CountedKind, type LimitAction, type LimitKind } from '../../../core/agents/day-limits.ts'
import { type Clock, toDay } from '../../../core/clock.ts'
import { toLocalDay } from '../../../core/local-day.ts'
import { formatMicroUsd, MAX_MICRO_USD } from '../../../core/money.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { findOwnerTimeZone } from '../../agents/registry/agents.ts'
import { agentCaps, agentDayCounts } from './tables.ts'

export type CapsRow = typeof agentCaps.$inferSelect
export type DayCountRow = typeof agentDayCounts.$inferSelect
const COLUMNS = {
  usd: 'costMicroUsdPerDay',
  tokens: 'tokensPerDay',
  messages: 'messagesPerDay',
  toolCalls: 'toolCallsPerDay',
  files: 'filesPerDay',
} as const satisfies Record<LimitKind, keyof CapsRow>
const NAMES: Readonly<Record<Exclude<LimitKind, 'usd'>, string>> = {
  tokens: 'tokens',
  messages: 'messages',
  toolCalls: 'tool calls',
  files: 'written files',
}

/** Returns the daily limit of a kind, in micro-USD for money; null without one. */
export function limitOf(caps: CapsRow | null, kind: LimitKind): number | null {
  return caps?.[COLUMNS[kind]] ?? null
}

export function actionOf(caps: CapsRow | null, kind: LimitKind): LimitAction {
  return caps?.actions[kind] ?? 'pause'
}

/** Returns the column of a kind. */
export function columnOf(kind: LimitKind) {
  return COLUMNS[kind]
}

/** Describes an amount of a kind: `20 messages`, `$1.50`. */
export function describeAmount(kind: LimitKind, amount: number): string {
  return kind === 'usd' ? `$${formatMicroUsd(Math.min(amount, MAX_MICRO_USD), 2)}` : `${amount} ${NAMES[kind]}`
}

export function findCaps(db: Db | Tx, agentId: string): CapsRow | null {
  return db.select().from(agentCaps).where(eq(agentCaps.agentId, agentId)).get() ?? null
}

/** Returns today on the calendar of an agent's owner. */
export function findToday(db: Db | Tx, clock: Clock, agentId: string): string {
  return toLocalDay(clock.now(), findOwnerTimeZone(db, agentId))
}

/** Lists what an agent did on a day. */
export function listDayCounts(db: Db | Tx, agentId: string, day: string): DayCountRow[] {
  const isOfDay = and(eq(agentDayCounts.agentId, agentId), eq(agentDayCounts.day, day))
  return db.select().from(agentDayCounts).where(isOfDay).all()
}

/** Lists what an agent did lately, on every calendar. */
export function listRecentCounts(db: Db, agentId: string, now: Date): DayCountRow[] {
  const yesterday = toDay(new Date(now.getTime() - 2 * 86_400_000))
  const isRecent = and(eq(agentDayCounts.agentId, agentId), gte(agentDayCounts.day, yesterday))
  return db.select().from(agentDayCounts).where(isRecent).all()
}

/** Returns the amount that the owner allowed beyond the limit on the day of `counts`. */
export function extraOf(counts: readonly DayCountRow[], kind: LimitKind): number {
  return counts.find((one) => one.kind === kind)?.extra ?? 0
}

/** Returns the limit that makes an agent pause now: something beyond it was refused, and it still applies. */
export function findPausing(caps: CapsRow | null, counts: readonly DayCountRow[]): CountedKind | null {
  const isPausing = (kind: CountedKind) => {
    const limit = limitOf(caps, kind)
    const count = counts.find((one) => one.kind === kind)
    if (limit === null || !count?.reachedAt || actionOf(caps, kind) !== 'pause') return false
    return count.used >= limit + count.extra
  }
  return COUNTED_KINDS.find(isPausing) ?? null
}

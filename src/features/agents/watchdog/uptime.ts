import { and, eq, gt, inArray, lt, type SQL, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../../db/open.ts'
import { watchdogHours } from './tables.ts'

const HOUR_MS = 3_600_000
const DAY_HOURS = 24
/** 30 days, and the current hour. */
const KEPT_HOURS = 30 * DAY_HOURS + 1

/** Durations of up, down and unknown. */
export type UptimeSpan = { upMs: number; downMs: number; unknownMs: number }

/** Uptime in percent of the watched time of the last 24 hours, 7 and 30 days; null when never watched. */
type Uptime = { day: number | null; week: number | null; month: number | null }

/** Splits the `elapsedMs` since a probe: its result holds for at most `trustMs`, the rest is unknown. */
export function toUptimeSpan(wasHealthy: boolean, elapsedMs: number, trustMs: number): UptimeSpan {
  // Longer spells are not kept, however far the wall clock jumped.
  const spentMs = Math.round(Math.min(Math.max(0, elapsedMs), KEPT_HOURS * HOUR_MS))
  const knownMs = Math.min(spentMs, Math.round(trustMs))
  const unknownMs = spentMs - knownMs
  return { upMs: wasHealthy ? knownMs : 0, downMs: wasHealthy ? 0 : knownMs, unknownMs }
}

/** Adds a spell that ended at `end` to its hours, the known part first. */
export function addUptime(tx: Tx, agentId: string, end: Date, spell: UptimeSpan): void {
  let at = end.getTime() - spell.upMs - spell.downMs - spell.unknownMs
  for (const [column, totalMs] of Object.entries(spell)) {
    for (let leftMs = totalMs; leftMs > 0; ) {
      const hour = Math.floor(at / HOUR_MS)
      const partMs = Math.min(leftMs, (hour + 1) * HOUR_MS - at)
      const part = { upMs: 0, downMs: 0, unknownMs: 0, [column]: partMs }
      tx.insert(watchdogHours)
        .values({ agentId, hour, ...part })
        .onConflictDoUpdate({ target: [watchdogHours.agentId, watchdogHours.hour], set: ADDED })
        .run()
      at += partMs
      leftMs -= partMs
    }
  }
}

const ADDED = {
  upMs: sql`${watchdogHours.upMs} + excluded.up_ms`,
  downMs: sql`${watchdogHours.downMs} + excluded.down_ms`,
  unknownMs: sql`${watchdogHours.unknownMs} + excluded.unknown_ms`,
}

/** Returns the uptimes; `latest` is the spell since the last probe, which no hour contains yet. */
export function readUptime(db: Db, agentId: string, now: Date, latest: UptimeSpan): Uptime {
  const hour = Math.floor(now.getTime() / HOUR_MS)
  const percentOf = (hours: number) => {
    const sum = db
      .select({ upMs: sql<number>`total(${watchdogHours.upMs})`, downMs: sql<number>`total(${watchdogHours.downMs})` })
      .from(watchdogHours)
      .where(and(eq(watchdogHours.agentId, agentId), gt(watchdogHours.hour, hour - hours)))
      .get()
    const upMs = (sum?.upMs ?? 0) + latest.upMs
    const knownMs = upMs + (sum?.downMs ?? 0) + latest.downMs
    return knownMs > 0 ? Math.round((upMs / knownMs) * 100_000) / 1000 : null
  }
  return { day: percentOf(DAY_HOURS), week: percentOf(7 * DAY_HOURS), month: percentOf(30 * DAY_HOURS) }
}

/**
 * Returns the uptime of each of the last `hours` hours, the current one last, in percent of the watched time; null when
 * not watched.
 */
export function readHours(db: Db, agentIds: readonly string[], now: Date, hours: number) {
  const present = Math.floor(now.getTime() / HOUR_MS)
  const { agentId, hour, upMs, downMs } = watchdogHours
  const rows = db
    .select({ agentId, hour, upMs, downMs })
    .from(watchdogHours)
    .where(and(inArray(agentId, agentIds), gt(hour, present - hours)))
    .all()
  const known = new Map(rows.map((row) => [`${row.agentId} ${row.hour}`, row]))
  return (id: string): (number | null)[] =>
    Array.from({ length: hours }, (_, index) => {
      const row = known.get(`${id} ${present - hours + 1 + index}`)
      const knownMs = row ? row.upMs + row.downMs : 0
      return row && knownMs > 0 ? Math.round((row.upMs / knownMs) * 1000) / 10 : null
    })
}

/** Selects hours that are too old to keep. */
export function isOldHour(now: Date): SQL {
  return lt(watchdogHours.hour, Math.floor(now.getTime() / HOUR_MS) - KEPT_HOURS)
}

import type { BackupKeep } from '../../core/settings/backups.ts'

const DAY_MS = 86_400_000
/** 1970-01-05 was a Monday. */
const FIRST_MONDAY = 4

type Dated = { createdAt: string }

/**
 * Those of `backups` that may go: all but the newest of each of the last so many days, weeks (from Monday) and months, in UTC,
 * of which there is one. The newest of all always stays.
 */
export function listOutdated<T extends Dated>(backups: readonly T[], keep: BackupKeep): T[] {
  const newestFirst = backups.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
  const kept = new Set(newestFirst.slice(0, 1))
  const rules = [
    [keep.days, toDay],
    [keep.weeks, (backup: Dated) => Math.floor((toDay(backup) - FIRST_MONDAY) / 7)],
    [keep.months, ({ createdAt }: Dated) => createdAt.slice(0, 7)],
  ] as const
  for (const [count, toPeriod] of rules) {
    const periods = new Set<string | number>()
    for (const backup of newestFirst) {
      const period = toPeriod(backup)
      if (periods.has(period) || periods.size === count) continue
      periods.add(period)
      kept.add(backup)
    }
  }
  return newestFirst.filter((backup) => !kept.has(backup))
}

function toDay({ createdAt }: Dated): number {
  return Math.floor(Date.parse(createdAt) / DAY_MS)
}

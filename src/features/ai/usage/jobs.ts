import type { RepeatingJob } from '../../../jobs/runner.ts'
import { type AlertDeps, sendUsageAlerts } from './alerts.ts'
import type { UsageSpool } from './recording/spool.ts'
import type { Spendings } from './spend.ts'

const DRAIN_MS = 10_000
/** A limit of a key or a plan stops work at once, so its owner hears of it within seconds. */
const ALERT_MS = 5000
/** Calls that are shorter go without a line; those of the last second before a kill are lost. */
const NOTE_MS = 1000

/** Writes the usage that could not be written when it happened. */
export function usageSpoolJob(deps: { usageSpool: UsageSpool }): RepeatingJob {
  return { name: 'usage.spool', everyMs: DRAIN_MS, run: () => deps.usageSpool.drain() }
}

/** Notes what is under way, so that a kill does not make it free. */
export function underWayJob(deps: { spendings: Spendings }): RepeatingJob {
  return { name: 'usage.under-way', everyMs: NOTE_MS, run: () => deps.spendings.noteUnderWay() }
}

/** Tells owners how much of a month's limits is used. */
export function usageAlertsJob(deps: AlertDeps): RepeatingJob {
  return { name: 'usage.alerts', everyMs: ALERT_MS, run: () => sendUsageAlerts(deps) }
}

import type { RepeatingJob } from '../../jobs/runner.ts'
import { type AlertDeps, sendUsageAlerts } from './alerts.ts'
import type { UsageSpool } from './spool.ts'

const DRAIN_MS = 10_000
const ALERT_MS = 60_000

/** Writes the usage that could not be written when it happened. */
export function usageSpoolJob(deps: { usageSpool: UsageSpool }): RepeatingJob {
  return { name: 'usage.spool', everyMs: DRAIN_MS, run: () => deps.usageSpool.drain() }
}

/** Tells owners how much of a month's limits is used. */
export function usageAlertsJob(deps: AlertDeps): RepeatingJob {
  return { name: 'usage.alerts', everyMs: ALERT_MS, run: () => sendUsageAlerts(deps) }
}

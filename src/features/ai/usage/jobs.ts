import type { RepeatingJob } from '../../../jobs/runner.ts'
import { type AlertDeps, sendUsageAlerts } from './alerts.ts'
import type { Spendings } from './spend.ts'
import type { UsageSpool } from './spool.ts'

const DRAIN_MS = 10_000
/** A reached limit stops work at once, so owners must learn of it within seconds. */
const ALERT_MS = 5000
/** Calls of the last second before a crash are lost. */
const NOTE_MS = 1000

/** Retries spooled usage. */
export function usageSpoolJob(deps: { usageSpool: UsageSpool }): RepeatingJob {
  return { name: 'usage.spool', everyMs: DRAIN_MS, run: () => deps.usageSpool.drain() }
}

/** Stores the running calls, so that a crash does not make them free. */
export function underWayJob(deps: { spendings: Spendings }): RepeatingJob {
  return { name: 'usage.under-way', everyMs: NOTE_MS, run: () => deps.spendings.noteUnderWay() }
}

/** Mails owners about used monthly limits. */
export function usageAlertsJob(deps: AlertDeps): RepeatingJob {
  return { name: 'usage.alerts', everyMs: ALERT_MS, run: () => sendUsageAlerts(deps) }
}

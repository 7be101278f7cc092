import type { Config } from '../../../core/config.ts'
import type { WatchdogRules } from './next-state.ts'

/** The limits of Interface 8 in milliseconds; the start period is not among them, because it is the image's. */
export type WatchdogSettings = Omit<WatchdogRules, 'startPeriodMs'> & { degradedCheckMs: number }

/** Intervals of nothing would leave no time for anything else. */
const MIN_CHECK_SECONDS = 0.05

export function toWatchdogSettings(config: Config['watchdog']): WatchdogSettings {
  return {
    checkMs: 1000 * Math.max(MIN_CHECK_SECONDS, config.checkSeconds),
    degradedCheckMs: 1000 * Math.max(MIN_CHECK_SECONDS, config.degradedCheckSeconds),
    startupFailureThreshold: config.startupFailureThreshold,
    maxRepairAttempts: config.maxRepairAttempts,
    crashLoopWindowMs: 1000 * config.crashLoopWindowSeconds,
    crashLoopThreshold: config.crashLoopThreshold,
    repairsItself: config.repairsItself,
  }
}

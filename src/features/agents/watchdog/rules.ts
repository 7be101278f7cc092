import type { Config } from '../../../core/config.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { ReturnRung, WatchdogRules } from './next-state.ts'

/**
 * The watchdog's limits in milliseconds, without the start period, which depends on the image, and the rungs, which
 * depend on the agent. A configuration or image that ran for `healthyAfterMs` is healthy.
 */
export type WatchdogSettings = Omit<WatchdogRules, 'startPeriodMs' | 'rungs'> & {
  degradedCheckMs: number
  healthyAfterMs: number
}

/** An interval of zero would loop without pause. */
const MIN_CHECK_SECONDS = 0.05

export function toWatchdogSettings(config: Config['watchdog']): WatchdogSettings {
  return {
    checkMs: 1000 * Math.max(MIN_CHECK_SECONDS, config.checkSeconds),
    degradedCheckMs: 1000 * Math.max(MIN_CHECK_SECONDS, config.degradedCheckSeconds),
    startupFailureThreshold: config.startupFailureThreshold,
    maxRepairAttempts: config.maxRepairAttempts,
    crashLoopWindowMs: 1000 * config.crashLoopWindowSeconds,
    crashLoopThreshold: config.crashLoopThreshold,
    retryAfterMs: 1000 * config.retryAfterSeconds,
    healthyAfterMs: 1000 * config.healthyAfterSeconds,
    repairsItself: config.repairsItself,
  }
}

/** Time after its start in which an agent need not respond: the start period of its image. */
const START_PERIOD_MS: Readonly<Record<AgentRow['kind'], number>> = { stead: 20_000, openclaw: 60_000 }

/** Returns the limits for one agent, which can go back by `rungs`. */
export function rulesOf(
  settings: WatchdogSettings,
  { kind }: Pick<AgentRow, 'kind'>,
  rungs: readonly ReturnRung[],
): WatchdogRules {
  return { ...settings, startPeriodMs: START_PERIOD_MS[kind], rungs }
}

import type { Config } from '../../../core/config.ts'

/** States of Interface 3, Watchdog lifecycle, and that of an agent which sleeps because nobody needs it. */
export const WATCHDOG_STATES = [
  'stopped',
  'sleeping',
  'starting',
  'running',
  'degraded',
  'crash_loop',
  'repairing',
] as const
export type WatchdogState = (typeof WATCHDOG_STATES)[number]

/**
 * What the watchdog remembers of one agent; times are milliseconds. `failures` counts failed probes in a row, while
 * starting only those after the grace, at most one a check interval (`countedAt`). `attempts` counts repairs and `crashes`
 * holds the times of crashes since ten healthy minutes ended.
 */
export type Watch = {
  state: WatchdogState
  since: number
  healthySince: number | null
  failures: number
  countedAt: number | null
  attempts: number
  crashes: readonly number[]
}

/** What can happen to an agent, at a time that never goes back. */
export type WatchdogInput = { at: number } & (
  | { type: 'started' }
  | { type: 'stopped' }
  /** Nobody needs it: that it has no process is as it should be. */
  | { type: 'slept' }
  | { type: 'probed'; isHealthy: true }
  /** `isDown`: it has no process, and nobody is about to start one. */
  | { type: 'probed'; isHealthy: false; isDown: boolean }
  | { type: 'crashed'; count: number }
  | { type: 'misconfigured' }
  | { type: 'repair-begun' }
  | { type: 'repair-ended'; isRepaired: boolean }
  | { type: 'repair-interrupted' }
)

/** Limits of Interface 8. Without `repairsItself` the watchdog only tells. */
export type WatchdogRules = {
  startPeriodMs: number
  checkMs: number
  startupFailureThreshold: number
  maxRepairAttempts: number
  crashLoopWindowMs: number
  crashLoopThreshold: number
  repairsItself: boolean
}

/** What people are told of. */
export type WatchdogNotice =
  | 'degraded'
  | 'recovered'
  | 'crash'
  | 'crash_loop'
  | 'repair_started'
  | 'repaired'
  | 'repair_failed'

/** `notices` are in the order in which they came to be. `givesUp`: the agent is to be ended, nobody watches it any more. */
export type Transition = { watch: Watch; notices: WatchdogNotice[]; givesUp: boolean }

/** One failed probe may be a slow one: only the second in a row begins a repair. */
export const CONFIRMED_FAILURES = 2
/** Decisions, 20. */
const CLEAR_AFTER_MS = 10 * 60_000

/** Nothing is known of an agent until it is started. */
export function newWatch(at: number): Watch {
  return { state: 'stopped', since: at, healthySince: null, failures: 0, countedAt: null, attempts: 0, crashes: [] }
}

/** The watchdog of Interface 3 with decisions 20 and 37: what becomes of `watch` when `event` happens. Pure. */
export function nextState(watch: Watch, event: WatchdogInput, rules: WatchdogRules): Transition {
  switch (event.type) {
    case 'started':
      return withoutNotice({ ...newWatch(event.at), state: 'starting' })
    case 'stopped':
      return watch.state === 'stopped' ? withoutNotice(watch) : withoutNotice(newWatch(event.at))
    case 'slept':
      return withoutNotice(watch.state === 'sleeping' ? watch : { ...newWatch(event.at), state: 'sleeping' })
    case 'probed':
      return event.isHealthy ? afterSuccess(watch, event.at) : afterFailure(watch, event, rules)
    case 'crashed':
      return afterCrash(watch, event, rules)
    case 'misconfigured':
      return isWatched(watch) ? degrade(watch, event.at, CONFIRMED_FAILURES, rules) : withoutNotice(watch)
    case 'repair-begun':
      if (!wantsRepair(watch, rules)) return withoutNotice(watch)
      return withNotice({ ...enter(watch, 'repairing', event.at), attempts: watch.attempts + 1 }, 'repair_started')
    case 'repair-ended':
      return watch.state === 'repairing' ? afterRepair(watch, event, rules) : withoutNotice(watch)
    case 'repair-interrupted':
      // The platform or its user ended the repair: that is no failed attempt.
      if (watch.state !== 'repairing') return withoutNotice(watch)
      return withoutNotice({ ...enter(watch, 'degraded', event.at, 1), attempts: watch.attempts - 1 })
  }
}

/** Is it time for a repair? Whether there is space for one is decided elsewhere. */
export function wantsRepair(watch: Watch, rules: WatchdogRules): boolean {
  return isConfirmed(watch) && rules.repairsItself && watch.attempts < rules.maxRepairAttempts
}

function isConfirmed(watch: Watch): boolean {
  return watch.state === 'degraded' && watch.failures >= CONFIRMED_FAILURES
}

function isWatched({ state }: Watch): boolean {
  return state === 'starting' || state === 'running' || state === 'degraded'
}

function afterSuccess(watch: Watch, at: number): Transition {
  if (!isWatched(watch)) return withoutNotice(watch)
  if (watch.state !== 'running') {
    const healthy = { ...enter(watch, 'running', at), healthySince: at }
    return watch.state === 'degraded' ? withNotice(healthy, 'recovered') : withoutNotice(healthy)
  }
  const healthySince = watch.healthySince ?? at
  const isCleared = at - healthySince >= CLEAR_AFTER_MS
  return withoutNotice({ ...watch, healthySince, ...(isCleared && { attempts: 0, crashes: [] }) })
}

function afterFailure(watch: Watch, { at, isDown }: { at: number; isDown: boolean }, rules: WatchdogRules): Transition {
  if (watch.state === 'running') return degrade(watch, at, 1, rules)
  if (watch.state === 'degraded') return degrade(watch, at, watch.failures + 1, rules)
  if (watch.state !== 'starting') return withoutNotice(watch)
  // Without a process it is not a slow start.
  if (isDown) return degrade(watch, at, 1, rules)
  const isGrace = at - watch.since < rules.startPeriodMs
  const isCounted = watch.countedAt !== null && at - watch.countedAt < rules.checkMs
  if (isGrace || isCounted) return withoutNotice(watch)
  const failures = watch.failures + 1
  if (failures >= rules.startupFailureThreshold) return degrade(watch, at, CONFIRMED_FAILURES, rules)
  return withoutNotice({ ...watch, failures, countedAt: at })
}

/** Whoever starts it again gives it a grace of its own; a crash that is one too many ends that. */
function afterCrash(watch: Watch, { at, count }: { at: number; count: number }, rules: WatchdogRules): Transition {
  if (watch.state === 'stopped' || watch.state === 'sleeping' || watch.state === 'crash_loop')
    return withoutNotice(watch)
  const recent = watch.crashes.filter((time) => at - time <= rules.crashLoopWindowMs)
  const crashes = [...recent, ...Array<number>(count).fill(at)]
  if (crashes.length >= rules.crashLoopThreshold) return giveUp({ ...watch, crashes }, at, [], rules)
  if (watch.state === 'repairing') return withNotice({ ...watch, crashes }, 'crash')
  return withNotice({ ...enter(watch, 'starting', at), crashes }, 'crash')
}

function afterRepair(
  watch: Watch,
  { at, isRepaired }: { at: number; isRepaired: boolean },
  rules: WatchdogRules,
): Transition {
  if (isRepaired) return withNotice({ ...enter(watch, 'running', at), healthySince: at }, 'repaired')
  if (watch.attempts >= rules.maxRepairAttempts) return giveUp(watch, at, ['repair_failed'], rules)
  return withNotice(enter(watch, 'degraded', at, 1), 'repair_failed')
}

function degrade(watch: Watch, at: number, failures: number, rules: WatchdogRules): Transition {
  const isNew = watch.state !== 'degraded'
  const degraded = isNew ? enter(watch, 'degraded', at, failures) : { ...watch, failures }
  const notices: WatchdogNotice[] = isNew ? ['degraded'] : []
  // Repairs that worked but did not last have failed as well.
  const isExhausted = isConfirmed(degraded) && rules.repairsItself && watch.attempts >= rules.maxRepairAttempts
  return isExhausted ? giveUp(degraded, at, notices, rules) : { watch: degraded, notices, givesUp: false }
}

function giveUp(watch: Watch, at: number, notices: WatchdogNotice[], rules: WatchdogRules): Transition {
  return { watch: enter(watch, 'crash_loop', at), notices: [...notices, 'crash_loop'], givesUp: rules.repairsItself }
}

function enter(watch: Watch, state: WatchdogState, at: number, failures = 0): Watch {
  return { ...watch, state, since: at, healthySince: null, failures, countedAt: null }
}

function withoutNotice(watch: Watch): Transition {
  return { watch, notices: [], givesUp: false }
}

function withNotice(watch: Watch, notice: WatchdogNotice): Transition {
  return { watch, notices: [notice], givesUp: false }
}

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

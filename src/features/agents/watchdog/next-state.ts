import type { Config } from '../../../core/config.ts'

/** States of the watchdog. */
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
 * The watchdog's state of one agent; times in milliseconds. `failures` counts consecutive failed probes; while
 * starting only
 * those after the grace period, at most one per check interval (`countedAt`). `attempts` counts repairs and `crashes`
 * holds
 * crash times since the last ten healthy minutes.
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

/** Inputs of the state machine, with a monotonic time. */
export type WatchdogInput = { at: number } & (
  | { type: 'started' }
  | { type: 'stopped' }
  /** The agent sleeps, so that a missing process is expected. */
  | { type: 'slept' }
  | { type: 'probed'; isHealthy: true }
  /** `isDown`: the agent has no process, and no start is pending. */
  | { type: 'probed'; isHealthy: false; isDown: boolean }
  | { type: 'crashed'; count: number }
  | { type: 'misconfigured' }
  | { type: 'repair-begun' }
  | { type: 'repair-ended'; isRepaired: boolean }
  | { type: 'repair-interrupted' }
)

/** Limits of the watchdog. Without `repairsItself` it only notifies. */
export type WatchdogRules = {
  startPeriodMs: number
  checkMs: number
  startupFailureThreshold: number
  maxRepairAttempts: number
  crashLoopWindowMs: number
  crashLoopThreshold: number
  repairsItself: boolean
}

/** Transitions that people are notified of. */
export type WatchdogNotice =
  | 'degraded'
  | 'recovered'
  | 'crash'
  | 'crash_loop'
  | 'repair_started'
  | 'repaired'
  | 'repair_failed'

/** `notices` are in order. `givesUp`: the agent is to be ended and no longer watched. */
export type Transition = { watch: Watch; notices: WatchdogNotice[]; givesUp: boolean }

/** One failed probe may be slow; the second in a row starts a repair. */
export const CONFIRMED_FAILURES = 2
/** Healthy time after which repairs and crashes are forgotten. */
const CLEAR_AFTER_MS = 10 * 60_000

/** Returns the initial state. */
export function newWatch(at: number): Watch {
  return { state: 'stopped', since: at, healthySince: null, failures: 0, countedAt: null, attempts: 0, crashes: [] }
}

/** Returns the state of `watch` after `event`. Pure. */
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
      // A repair that the platform or the user interrupted is no failed attempt.
      if (watch.state !== 'repairing') return withoutNotice(watch)
      return withoutNotice({ ...enter(watch, 'degraded', event.at, 1), attempts: watch.attempts - 1 })
  }
}

/** Returns whether the agent needs a repair; the caller limits concurrent repairs. */
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

/** Records crashes. The runtime's restart gets a new grace period, until too many crashes end it. */
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
  // Repairs without a lasting effect count as failed.
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

/** The watchdog's limits in milliseconds, without the start period, which depends on the image. */
export type WatchdogSettings = Omit<WatchdogRules, 'startPeriodMs'> & { degradedCheckMs: number }

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
    repairsItself: config.repairsItself,
  }
}

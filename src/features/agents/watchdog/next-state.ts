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
 * Rungs of the repair ladder: restart the agent, go back to the last configuration that was healthy, go back to the
 * last image that was healthy.
 */
export const RUNGS = ['restart', 'configuration', 'image'] as const
export type Rung = (typeof RUNGS)[number]
/** Rungs that go back to something; an agent has them when it differs from its last healthy revision. */
export type ReturnRung = Exclude<Rung, 'restart'>

/**
 * The watchdog's state of one agent; times in milliseconds. `failures` counts consecutive failed probes; while starting
 * only those after the grace period, at most one per check interval (`countedAt`). `attempts` counts restarts, `rungs`
 * holds the rungs that were used up and `crashes` the crash times since the last ten healthy minutes; `retries` counts
 * the retries of an agent that was given up. `rung` is taken, or was interrupted.
 */
export type Watch = {
  state: WatchdogState
  since: number
  healthySince: number | null
  failures: number
  countedAt: number | null
  attempts: number
  rungs: readonly Rung[]
  rung: Rung | null
  retries: number
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
  /** A deployment ended without a healthy agent. */
  | { type: 'start-failed' }
  | { type: 'retry-begun' }
  | { type: 'repair-begun' }
  | { type: 'repair-ended'; isRepaired: boolean }
  | { type: 'repair-interrupted' }
)

/** Limits of the watchdog. Without `repairsItself` it only notifies. `rungs` are the returns that the agent has now. */
export type WatchdogRules = {
  startPeriodMs: number
  checkMs: number
  startupFailureThreshold: number
  maxRepairAttempts: number
  crashLoopWindowMs: number
  crashLoopThreshold: number
  retryAfterMs: number
  repairsItself: boolean
  rungs: readonly ReturnRung[]
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
/** Longest pause between two retries of an agent that was given up. */
const MAX_RETRY_MS = 24 * 3_600_000

/** Returns the initial state. */
export function newWatch(at: number): Watch {
  const untried = { attempts: 0, rungs: [], rung: null, retries: 0, crashes: [] }
  return { state: 'stopped', since: at, healthySince: null, failures: 0, countedAt: null, ...untried }
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
    case 'start-failed':
      return afterFailedStart(watch, event.at, rules)
    case 'repair-begun':
      return wantsRepair(watch, rules) ? beginRepair(watch, event.at, rules) : withoutNotice(watch)
    case 'retry-begun':
      return wantsRetry(watch, event.at, rules) ? beginRetry(watch, event.at) : withoutNotice(watch)
    case 'repair-ended':
      return watch.state === 'repairing' ? afterRepair(watch, event, rules) : withoutNotice(watch)
    case 'repair-interrupted':
      return watch.state === 'repairing' ? afterInterruption(watch, event.at) : withoutNotice(watch)
  }
}

/** Returns whether the agent needs a repair; the caller limits concurrent repairs. */
export function wantsRepair(watch: Watch, rules: WatchdogRules): boolean {
  return isConfirmed(watch) && nextRung(watch, rules) !== null
}

/** Returns whether an agent that was given up is due for another start. */
export function wantsRetry(watch: Watch, at: number, rules: Pick<WatchdogRules, 'repairsItself' | 'retryAfterMs'>) {
  return watch.state === 'crash_loop' && rules.repairsItself && at >= retryAt(watch, rules)
}

/** Returns when an agent that was given up is started again; the pause doubles with each retry, up to a day. */
export function retryAt({ since, retries }: Watch, { retryAfterMs }: Pick<WatchdogRules, 'retryAfterMs'>): number {
  return since + Math.min(retryAfterMs * 2 ** retries, Math.max(retryAfterMs, MAX_RETRY_MS))
}

/** Returns the rung that the next repair takes; null when all were used up. */
function nextRung(watch: Watch, rules: WatchdogRules): Rung | null {
  if (!rules.repairsItself) return null
  if (watch.rung !== null && watch.state !== 'repairing') return watch.rung
  if (watch.attempts < rules.maxRepairAttempts && !watch.rungs.includes('restart')) return 'restart'
  return rules.rungs.find((rung) => !watch.rungs.includes(rung)) ?? null
}

function beginRepair(watch: Watch, at: number, rules: WatchdogRules): Transition {
  const rung = nextRung(watch, rules)
  const repairing = { ...enter(watch, 'repairing', at), rung }
  if (rung === 'restart') return withNotice({ ...repairing, attempts: watch.attempts + 1 }, 'repair_started')
  // Crashes of the replaced parts say nothing about the restored ones.
  return withNotice({ ...repairing, crashes: [] }, 'repair_started')
}

/** One start, without the rungs that have failed already. */
function beginRetry(watch: Watch, at: number): Transition {
  const tried = { retries: watch.retries + 1, rungs: withRung(watch.rungs, 'restart'), crashes: [] }
  return withoutNotice({ ...enter(watch, 'repairing', at), ...tried, rung: 'restart' })
}

/** A failed start counts as a failed restart: the ladder continues with its next rung. */
function afterFailedStart(watch: Watch, at: number, rules: WatchdogRules): Transition {
  if (watch.state === 'crash_loop') return withoutNotice(watch)
  const failed: Watch = { ...newWatch(at), state: 'degraded', failures: CONFIRMED_FAILURES, rungs: ['restart'] }
  return nextRung(failed, rules) === null ? withoutNotice(newWatch(at)) : withNotice(failed, 'degraded')
}

function afterInterruption(watch: Watch, at: number): Transition {
  // A repair that the platform or the user interrupted is no failed attempt; a return is taken up again.
  const isCounted = watch.rung === 'restart' && !watch.rungs.includes('restart')
  const attempts = watch.attempts - Number(isCounted)
  const rung = watch.rung === 'restart' ? null : watch.rung
  return withoutNotice({ ...enter(watch, 'degraded', at, 1), attempts, rung })
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
    const healthy = { ...enter(watch, 'running', at), healthySince: at, rung: null }
    return watch.state === 'degraded' ? withNotice(healthy, 'recovered') : withoutNotice(healthy)
  }
  const healthySince = watch.healthySince ?? at
  const isCleared = at - healthySince >= CLEAR_AFTER_MS
  return withoutNotice({ ...watch, healthySince, ...(isCleared && UNTRIED) })
}

const UNTRIED = { attempts: 0, rungs: [], retries: 0, crashes: [] } as const

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
  if (crashes.length >= rules.crashLoopThreshold) return afterCrashLoop({ ...watch, crashes }, at, rules)
  if (watch.state === 'repairing') return withNotice({ ...watch, crashes }, 'crash')
  return withNotice({ ...enter(watch, 'starting', at), crashes }, 'crash')
}

/** The runtime has restarted the agent often enough: only a return may help now. */
function afterCrashLoop(watch: Watch, at: number, rules: WatchdogRules): Transition {
  const underWay = watch.state === 'repairing' && watch.rung !== null ? [watch.rung] : []
  const climbing = { ...watch, rungs: withRung(watch.rungs, 'restart', ...underWay) }
  if (nextRung(climbing, rules) === null) return giveUp(climbing, at, [], rules)
  // The current repair ends on its own, with success or failure.
  if (watch.state === 'repairing') return withNotice(climbing, 'crash')
  return withNotice(enter(climbing, 'degraded', at, CONFIRMED_FAILURES), 'crash')
}

function afterRepair(
  watch: Watch,
  { at, isRepaired }: { at: number; isRepaired: boolean },
  rules: WatchdogRules,
): Transition {
  const { rung } = watch
  const isReturn = rung === 'configuration' || rung === 'image'
  const tried = { ...watch, rung: null, rungs: isReturn ? withRung(watch.rungs, rung) : watch.rungs }
  if (isRepaired) return withNotice({ ...enter(tried, 'running', at), healthySince: at }, 'repaired')
  const failed = enter(tried, 'degraded', at, 1)
  if (nextRung(failed, rules) === null) return giveUp(tried, at, ['repair_failed'], rules)
  return withNotice(failed, 'repair_failed')
}

function withRung(rungs: readonly Rung[], ...added: readonly Rung[]): readonly Rung[] {
  return RUNGS.filter((rung) => rungs.includes(rung) || added.includes(rung))
}

function degrade(watch: Watch, at: number, failures: number, rules: WatchdogRules): Transition {
  const isNew = watch.state !== 'degraded'
  const degraded = isNew ? enter(watch, 'degraded', at, failures) : { ...watch, failures }
  const notices: WatchdogNotice[] = isNew ? ['degraded'] : []
  // Repairs without a lasting effect count as failed.
  const isExhausted = isConfirmed(degraded) && rules.repairsItself && nextRung(degraded, rules) === null
  return isExhausted ? giveUp(degraded, at, notices, rules) : { watch: degraded, notices, givesUp: false }
}

function giveUp(watch: Watch, at: number, notices: WatchdogNotice[], rules: WatchdogRules): Transition {
  const given = { ...enter(watch, 'crash_loop', at), rung: null }
  // A retry that failed is no news.
  const isNews = watch.retries === 0 || watch.state !== 'repairing'
  return { watch: given, notices: isNews ? [...notices, 'crash_loop'] : notices, givesUp: rules.repairsItself }
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

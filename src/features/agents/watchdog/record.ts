import { and, eq, gt, lt } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Notification } from '../../accounts/notifications/schemas.ts'
import type { OwnerNotice, SendNotice } from '../../accounts/notifications/send-notice.ts'
import type { Base } from '../../base.ts'
import { markFailed } from '../deployments/start.ts'
import { markDown, markUp } from '../registry/status.ts'
import type { AgentRow } from '../registry/tables.ts'
import {
  CONFIRMED_FAILURES,
  newWatch,
  nextState,
  type Transition,
  type WatchdogInput,
  type WatchdogNotice,
  type WatchdogRules,
  type WatchdogSettings,
  type WatchdogState,
} from './next-state.ts'
import { type WatchdogEventRow, type WatchdogRow, watchdogEvents, watchdogs } from './tables.ts'
import { addUptime, toUptimeSpan, type UptimeSpan } from './uptime.ts'

/** `clock` is wall time, `steady` is monotonic. `notify` sends a notification in the caller's transaction. */
export type RecordDeps = Base & {
  steady: Clock
  notify: (tx: Tx, notification: Notification) => void
  sendNotice: SendNotice
  watchdogSettings: WatchdogSettings
}

/** Time after its start in which an agent need not respond: the start period of its image. */
const START_PERIOD_MS: Readonly<Record<AgentRow['kind'], number>> = { stead: 20_000, openclaw: 60_000 }

/** Results of a check besides events; undefined changes nothing. */
export type Findings = Partial<Pick<WatchdogRow, 'processStartedAt' | 'processRestarts' | 'exitCode' | 'outOfMemory'>>

/** Returns the agent's row, or its initial state. */
export function findWatchdog(db: Db, agentId: string, now: number): WatchdogRow {
  const row = db.select().from(watchdogs).where(eq(watchdogs.agentId, agentId)).get()
  return row ? withoutFuture(row, now) : newRow(agentId, now)
}

/**
 * Applies `events` to an agent: state, history, uptime and notifications change in one transaction. Event times are
 * those of
 * `deps.steady`.
 */
export function recordEvents(
  deps: RecordDeps,
  tx: Tx,
  agent: AgentRow,
  events: WatchdogInput[],
  findings: Findings = {},
): WatchdogState {
  const now = deps.steady.now().getTime()
  const rules = { ...deps.watchdogSettings, startPeriodMs: START_PERIOD_MS[agent.kind] }
  let row: WatchdogRow = { ...countUptime(deps, tx, findWatchdog(tx, agent.id, now), now), ...findings }
  let hasDegraded = false
  for (const event of events) {
    const before = row
    const transition = nextState(before, event, rules)
    row = { ...before, ...transition.watch, ...probeOf(event, before) }
    if (event.type === 'started') row = { ...row, ...NO_PROCESS, agentStartedAt: agent.startedAt?.getTime() ?? null }
    // After a repair the process is new and has not been inspected yet.
    if (before.state === 'repairing' && row.state !== 'repairing')
      row = { ...row, processStartedAt: null, processRestarts: null }
    record(deps, tx, agent, before, row, transition)
    if (transition.givesUp) {
      row = { ...row, lastProbeHealthy: false }
      endAgent(deps, tx, agent, row)
    }
    hasDegraded ||= transition.notices.includes('degraded')
  }
  showDownState(deps, tx, row)
  const nextCheckAt = now + checkPauseMs(row.state, deps.watchdogSettings)
  tx.insert(watchdogs)
    .values({ ...row, nextCheckAt })
    .onConflictDoUpdate({ target: watchdogs.agentId, set: { ...row, nextCheckAt } })
    .run()
  if (hasDegraded) checkOthersSoon(deps, tx, now)
  return row.state
}

/** Marks a hanging agent as down for its owner once the failure is confirmed. */
function showDownState(deps: RecordDeps, tx: Tx, { agentId, state, failures }: WatchdogRow): void {
  if (state === 'running') markUp(tx, agentId)
  else if (state === 'repairing') markDown(tx, agentId, 'It is being repaired', deps.clock.now())
  else if (state === 'degraded' && failures >= CONFIRMED_FAILURES) {
    markDown(tx, agentId, 'It does not answer', deps.clock.now())
  }
}

/** Schedules another check soon, after one without a result. */
export function postponeCheck(deps: RecordDeps, tx: Tx, agentId: string): void {
  const nextCheckAt = deps.steady.now().getTime() + deps.watchdogSettings.degradedCheckMs
  tx.update(watchdogs).set({ nextCheckAt }).where(eq(watchdogs.agentId, agentId)).run()
}

/** Returns the time since `row` was written, by the result of its last probe; null without a probe. */
export function uptimeSince(settings: WatchdogSettings, row: WatchdogRow, now: number): UptimeSpan | null {
  if (row.lastProbeHealthy === null) return null
  // After a crash loop, the agent is not probed and stays down.
  const isGivenUp = row.state === 'crash_loop' && settings.repairsItself
  const trustMs = isGivenUp ? Number.MAX_SAFE_INTEGER : 2 * settings.checkMs + 60_000
  return toUptimeSpan(row.lastProbeHealthy, now - row.watchedUntil, trustMs)
}

/** Returns the check interval: short while degraded, and while starting, so that the first success is seen soon. */
function checkPauseMs(state: WatchdogState, { checkMs, degradedCheckMs }: WatchdogSettings): number {
  return state === 'running' || state === 'crash_loop' ? checkMs : Math.min(checkMs, degradedCheckMs)
}

/** // One failure may mean others: check the rest before anything is repaired. */
function checkOthersSoon({ watchdogSettings }: RecordDeps, tx: Tx, now: number): void {
  const isLongAgo = lt(watchdogs.lastProbeAt, now - watchdogSettings.checkMs / 4)
  tx.update(watchdogs)
    .set({ nextCheckAt: now })
    .where(and(eq(watchdogs.state, 'running'), gt(watchdogs.nextCheckAt, now), isLongAgo))
    .run()
}

function probeOf(event: WatchdogInput, before: WatchdogRow): Partial<WatchdogRow> {
  const isUnprobed = event.type === 'started' || event.type === 'stopped' || event.type === 'slept'
  if (isUnprobed) return { lastProbeAt: null, lastProbeHealthy: null }
  if (before.state === 'repairing' && event.type === 'repair-ended')
    return { lastProbeAt: event.at, lastProbeHealthy: event.isRepaired }
  if (event.type === 'misconfigured') return { lastProbeAt: event.at, lastProbeHealthy: false }
  return event.type === 'probed' ? { lastProbeAt: event.at, lastProbeHealthy: event.isHealthy } : {}
}

function countUptime(deps: RecordDeps, tx: Tx, row: WatchdogRow, now: number): WatchdogRow {
  const spell = uptimeSince(deps.watchdogSettings, row, now)
  if (spell) addUptime(tx, row.agentId, deps.clock.now(), spell)
  return { ...row, watchedUntil: now }
}

function record(
  deps: RecordDeps,
  tx: Tx,
  agent: AgentRow,
  before: WatchdogRow,
  row: WatchdogRow,
  { notices }: Transition,
): void {
  const kinds: WatchdogEventRow['kind'][] =
    notices.length > 0 ? notices : row.state === before.state ? [] : [entered(row)]
  for (const kind of kinds) {
    const id = newId('wdg')
    const at = deps.clock.now()
    const { state, attempts: attempt, exitCode, outOfMemory } = row
    tx.insert(watchdogEvents).values({ id, agentId: agent.id, kind, state, attempt, exitCode, outOfMemory, at }).run()
    const notice = notices.find((one) => one === kind)
    if (!notice) continue
    const notification = describeNotice({ id, at, notice, agent, row, rules: deps.watchdogSettings })
    deps.notify(tx, notification)
    notifyOwner(deps, tx, agent, notice, notification.status)
  }
}

/** Notifies the owner of important transitions, and operators of all transitions. */
function notifyOwner(deps: RecordDeps, tx: Tx, { id, name, ownerId }: AgentRow, notice: WatchdogNotice, text: string) {
  const kind = OWNER_NOTICES[notice]
  if (ownerId !== null && kind) deps.sendNotice(tx, { userId: ownerId, agent: { id, name }, kind, text })
}

const OWNER_NOTICES: Partial<Record<WatchdogNotice, OwnerNotice['kind']>> = {
  degraded: 'down',
  crash: 'down',
  crash_loop: 'given_up',
  recovered: 'recovered',
  repaired: 'recovered',
}

function entered({ state }: WatchdogRow): WatchdogEventRow['kind'] {
  return state === 'repairing' ? 'repair_started' : state
}

/** Records why the agent is down and enqueues the job that stops it, in one transaction. */
function endAgent(deps: RecordDeps, tx: Tx, agent: AgentRow, row: WatchdogRow): void {
  markFailed(tx, agent.id, giveUpReason(row, deps.watchdogSettings), deps.clock.now())
  deps.enqueue(tx, END_JOB, { agentId: agent.id }, { key: `end:${agent.id}` })
}

const NO_PROCESS = { processStartedAt: null, processRestarts: null, exitCode: null, outOfMemory: false } as const

function newRow(agentId: string, now: number): WatchdogRow {
  const unseen = { agentStartedAt: null, nextCheckAt: now, watchedUntil: now }
  const unprobed = { lastProbeAt: null, lastProbeHealthy: null }
  return { agentId, ...newWatch(now), ...NO_PROCESS, ...unseen, ...unprobed }
}

/** // The wall clock may have been set back while the platform was down. */
function withoutFuture(row: WatchdogRow, now: number): WatchdogRow {
  const past = (time: number | null) => (time === null ? null : Math.min(time, now))
  return {
    ...row,
    since: Math.min(row.since, now),
    healthySince: past(row.healthySince),
    countedAt: past(row.countedAt),
    crashes: row.crashes.map((time) => Math.min(time, now)),
    lastProbeAt: past(row.lastProbeAt),
    watchedUntil: Math.min(row.watchedUntil, now),
  }
}

/** The job that stops an agent after the watchdog gave up. */
export const END_JOB = 'watchdog.end'

type Counts = Pick<WatchdogRow, 'attempts' | 'crashes' | 'exitCode' | 'outOfMemory'>
type Limits = Pick<WatchdogRules, 'crashLoopWindowMs' | 'crashLoopThreshold' | 'maxRepairAttempts'>
type Notice = { id: string; at: Date; notice: WatchdogNotice; agent: AgentRow; row: WatchdogRow; rules: Limits }

/** Builds the notification of a transition; `id` prevents duplicates. */
function describeNotice({ id, at, notice, agent, row, rules }: Notice): Notification {
  return {
    id,
    kind: notice,
    at: at.toISOString(),
    agent: { id: agent.id, name: agent.name },
    status: STATUS[notice](row, rules),
    attempt: row.attempts,
    exitCode: row.exitCode,
    outOfMemory: row.outOfMemory,
  }
}

/** Returns why the watchdog gave up, for the owner. */
function giveUpReason(row: Counts, rules: Limits): string {
  return `${STATUS.crash_loop(row, rules)}. Start, restart or repair it to try again`
}

const STATUS: Readonly<Record<WatchdogNotice, (row: Counts, rules: Limits) => string>> = {
  degraded: (row) => `The agent does not answer its health check${ending(row)}`,
  recovered: () => 'The agent answers its health check again',
  crash: (row) => `The agent crashed${ending(row)}`,
  crash_loop: (row, rules) =>
    row.crashes.length >= rules.crashLoopThreshold
      ? `The agent crashed ${row.crashes.length} times within ${toText(rules.crashLoopWindowMs)}${ending(row)}`
      : `The agent is not healthy after ${row.attempts} repairs${ending(row)}`,
  repair_started: (_row, rules) => `The agent is being repaired, at most ${rules.maxRepairAttempts} times`,
  repaired: () => 'The agent was repaired and answers its health check',
  repair_failed: (row) => `The agent was repaired and still does not answer${ending(row)}`,
}

function ending({ exitCode, outOfMemory }: Counts): string {
  if (outOfMemory) return ' (its memory limit ended it)'
  if (exitCode === 78) return ' (exit code 78: bad configuration)'
  return exitCode === null ? '' : ` (exit code ${exitCode})`
}

function toText(ms: number): string {
  return ms >= 60_000 && ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1000} s`
}

/** Creates a monotonic clock, which jumps of the wall clock do not affect. */
export function createSteadyClock(clock: Clock, elapsedMs: () => number = () => performance.now()): Clock {
  const begin = clock.now().getTime() - elapsedMs()
  return { now: () => new Date(begin + elapsedMs()) }
}

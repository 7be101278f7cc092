import { and, eq, gt, lt } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Notification } from '../../accounts/notifications/schemas.ts'
import type { OwnerNotice, SendNotice } from '../../accounts/notifications/send-notice.ts'
import type { Base } from '../../base.ts'
import { markFailed } from '../deployments/start.ts'
import { searchLines } from '../logs/store.ts'
import { markDown, markUp } from '../registry/status.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { markRevisionHealthy } from '../revisions/record.ts'
import { describeLastChange, describeReturn, listReturnRungs } from './ladder.ts'
import {
  CONFIRMED_FAILURES,
  newWatch,
  nextState,
  type Rung,
  type Transition,
  type WatchdogInput,
  type WatchdogNotice,
  type WatchdogRules,
  type WatchdogState,
} from './next-state.ts'
import { describeNotice, giveUpReason, toOwnerText } from './notices.ts'
import { rulesOf, type WatchdogSettings } from './rules.ts'
import { type WatchdogEventRow, type WatchdogRow, watchdogEvents, watchdogs } from './tables.ts'
import { addUptime, toUptimeSpan, type UptimeSpan } from './uptime.ts'

/** `clock` is wall time, `steady` is monotonic. `notify` sends a notification in the caller's transaction. */
export type RecordDeps = Base & {
  steady: Clock
  notify: (tx: Tx, notification: Notification) => void
  sendNotice: SendNotice
  watchdogSettings: WatchdogSettings
}

/** Results of a check besides events; undefined changes nothing. */
export type Findings = Partial<Pick<WatchdogRow, 'processStartedAt' | 'processRestarts' | 'exitCode' | 'outOfMemory'>>

/** Returns the agent's row, or its initial state. */
export function findWatchdog(db: Db, agentId: string, now: number): WatchdogRow {
  const row = db.select().from(watchdogs).where(eq(watchdogs.agentId, agentId)).get()
  return row ? withoutFuture(row, now) : newRow(agentId, now)
}

/**
 * Applies `events` to an agent: state, history, uptime and notifications change in one transaction. Event times are
 * those of `deps.steady`.
 */
export function recordEvents(
  deps: RecordDeps,
  tx: Tx,
  agent: AgentRow,
  events: WatchdogInput[],
  findings: Findings = {},
): WatchdogState {
  const now = deps.steady.now().getTime()
  const rules = rulesFor(deps, tx, agent, events)
  let row: WatchdogRow = { ...countUptime(deps, tx, findWatchdog(tx, agent.id, now), now), ...findings }
  let hasDegraded = false
  for (const event of events) {
    const before = row
    const transition = nextState(before, event, rules)
    row = { ...before, ...transition.watch, ...probeOf(event, before) }
    if (event.type === 'start-failed' && row.state === 'degraded') row = { ...row, ...watchFailed(deps, tx, agent) }
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
  noteHealthy(deps, tx, agent, row, now)
  const nextCheckAt = now + checkPauseMs(row.state, deps.watchdogSettings)
  tx.insert(watchdogs)
    .values({ ...row, nextCheckAt })
    .onConflictDoUpdate({ target: watchdogs.agentId, set: { ...row, nextCheckAt } })
    .run()
  if (hasDegraded) checkOthersSoon(deps, tx, now)
  return row.state
}

/** Events that start no repair. */
const FINE: ReadonlySet<WatchdogInput['type']> = new Set(['started', 'stopped', 'slept'])

/** Returns the limits of an agent; the returns that it has matter only when something fails. */
function rulesFor(deps: RecordDeps, tx: Tx, agent: AgentRow, events: readonly WatchdogInput[]): WatchdogRules {
  const isFine = events.every((event) => FINE.has(event.type) || (event.type === 'probed' && event.isHealthy))
  return rulesOf(deps.watchdogSettings, agent, isFine ? [] : listReturnRungs(deps, tx, agent))
}

/** Lets the watchdog repair an agent whose deployment failed: it is to run, and is down. */
function watchFailed({ clock }: RecordDeps, tx: Tx, { id, startedAt }: AgentRow): Partial<WatchdogRow> {
  const isFailed = and(eq(agents.id, id), eq(agents.status, 'error'))
  tx.update(agents).set({ status: 'running', downAt: clock.now() }).where(isFailed).run()
  return { ...NO_PROCESS, agentStartedAt: startedAt?.getTime() ?? null }
}

/** Starts the repair of an agent that was given up; the agent is to run again. */
export function recordRetry(deps: RecordDeps, tx: Tx, agent: AgentRow): WatchdogState {
  const isGivenUp = and(eq(agents.id, agent.id), eq(agents.status, 'error'))
  tx.update(agents).set({ status: 'running', downAt: deps.clock.now() }).where(isGivenUp).run()
  return recordEvents(deps, tx, agent, [{ type: 'retry-begun', at: deps.steady.now().getTime() }])
}

/** Marks the configuration of an agent that has run for long enough as one to go back to. */
function noteHealthy(deps: RecordDeps, tx: Tx, agent: AgentRow, { state, healthySince }: WatchdogRow, now: number) {
  const { healthyAfterMs } = deps.watchdogSettings
  if (state !== 'running' || healthySince === null || now - healthySince < healthyAfterMs) return
  markRevisionHealthy(deps, tx, agent, healthyAfterMs)
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

/** One failure may mean others: check the other agents before anything is repaired. */
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
    const explained = explain(deps, tx, agent, kind, kind === 'degraded' ? null : (row.rung ?? before.rung))
    tx.insert(watchdogEvents)
      .values({ id, agentId: agent.id, kind, state, attempt, exitCode, outOfMemory, at, ...explained })
      .run()
    const notice = notices.find((one) => one === kind)
    if (!notice) continue
    const notification = describeNotice({ id, at, notice, agent, row, rules: deps.watchdogSettings, ...explained })
    deps.notify(tx, notification)
    notifyOwner(deps, tx, agent, notice, toOwnerText(notification))
  }
}

type Explanation = Pick<WatchdogEventRow, 'rung' | 'detail' | 'logTail'>

/** Returns what a repair changes, and for a failure the change before it and the last output. */
function explain(
  deps: RecordDeps,
  tx: Tx,
  agent: AgentRow,
  kind: WatchdogEventRow['kind'],
  rung: Rung | null,
): Explanation {
  if (kind === 'crash_loop') {
    return { rung: null, detail: describeLastChange(deps, tx, agent.id), logTail: readOutput(tx, agent.id) }
  }
  const isRepair = kind === 'repair_started' || kind === 'repaired' || kind === 'repair_failed'
  if (!isRepair || rung === null) return { rung: null, detail: null, logTail: null }
  const detail = kind === 'repair_started' ? describeReturn(deps, tx, agent, rung) : null
  return { rung, detail, logTail: null }
}

const OUTPUT_LINES = 10

/** Returns the last output of an agent; null without any. */
function readOutput(tx: Tx, agentId: string): string | null {
  const lines = searchLines(tx, agentId, { limit: OUTPUT_LINES })
  return lines.length === 0 ? null : lines.map(({ text }) => text).join('\n')
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

/** The wall clock may have been set back while the platform was down. */
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

/** Creates a monotonic clock, which jumps of the wall clock do not affect. */
export function createSteadyClock(clock: Clock, elapsedMs: () => number = () => performance.now()): Clock {
  const begin = clock.now().getTime() - elapsedMs()
  return { now: () => new Date(begin + elapsedMs()) }
}

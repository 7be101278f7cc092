import { and, eq, gt, lt } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import type { Notification } from '../../accounts/notifications/schemas.ts'
import type { OwnerNotice, SendNotice } from '../../accounts/notifications/send-notice.ts'
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
import { addSpell, type Spell, toSpell } from './uptime.ts'

/** `clock` is for people; `steady` is what the watchdog counts by. `notify` asks for a notification in the closure of its cause. */
export type RecordDeps = {
  clock: Clock
  steady: Clock
  enqueue: Enqueue
  notify: (tx: Tx, notification: Notification) => void
  sendNotice: SendNotice
  watchdogSettings: WatchdogSettings
}

/** Time from the start of an agent in which it need not answer: the start period of its image (openclaw.md, 4). */
const START_PERIOD_MS: Readonly<Record<AgentRow['kind'], number>> = { stead: 20_000, openclaw: 60_000 }

/** What a look found out beside events; nothing is changed by what is undefined. */
export type Findings = Partial<Pick<WatchdogRow, 'processStartedAt' | 'processRestarts' | 'exitCode' | 'outOfMemory'>>

/** The row of an agent, or what it is before there was one. */
export function findWatchdog(db: Db, agentId: string, now: number): WatchdogRow {
  const row = db.select().from(watchdogs).where(eq(watchdogs.agentId, agentId)).get()
  return row ? withoutFuture(row, now) : newRow(agentId, now)
}

/**
 * Lets `events` happen to an agent: its state, its history, its uptime and what people are told change together or not at
 * all. Event times are those of `deps.steady`.
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
    // After a repair the process is another one, which nobody has seen yet.
    if (before.state === 'repairing' && row.state !== 'repairing')
      row = { ...row, processStartedAt: null, processRestarts: null }
    record(deps, tx, agent, before, row, transition)
    if (transition.givesUp) {
      row = { ...row, lastProbeHealthy: false }
      endAgent(deps, tx, agent, row)
    }
    hasDegraded ||= transition.notices.includes('degraded')
  }
  sendNotice(deps, tx, row)
  const nextCheckAt = now + checkPauseMs(row.state, deps.watchdogSettings)
  tx.insert(watchdogs)
    .values({ ...row, nextCheckAt })
    .onConflictDoUpdate({ target: watchdogs.agentId, set: { ...row, nextCheckAt } })
    .run()
  if (hasDegraded) checkOthersSoon(deps, tx, now)
  return row.state
}

/** Agents that hang are down for their owners as well, once that is sure. */
function sendNotice(deps: RecordDeps, tx: Tx, { agentId, state, failures }: WatchdogRow): void {
  if (state === 'running') markUp(tx, agentId)
  else if (state === 'repairing') markDown(tx, agentId, 'It is being repaired', deps.clock.now())
  else if (state === 'degraded' && failures >= CONFIRMED_FAILURES) {
    markDown(tx, agentId, 'It does not answer', deps.clock.now())
  }
}

/** A look that told nothing: the next one comes soon. */
export function postponeCheck(deps: RecordDeps, tx: Tx, agentId: string): void {
  const nextCheckAt = deps.steady.now().getTime() + deps.watchdogSettings.degradedCheckMs
  tx.update(watchdogs).set({ nextCheckAt }).where(eq(watchdogs.agentId, agentId)).run()
}

/** What has passed since `row` was written, by the result of its last probe; null when there is none to go by. */
export function spellSince(settings: WatchdogSettings, row: WatchdogRow, now: number): Spell | null {
  if (row.lastProbeHealthy === null) return null
  // Nobody looks at an agent that was given up, and it stays down.
  const isGivenUp = row.state === 'crash_loop' && settings.repairsItself
  const trustMs = isGivenUp ? Number.MAX_SAFE_INTEGER : 2 * settings.checkMs + 60_000
  return toSpell(row.lastProbeHealthy, now - row.watchedUntil, trustMs)
}

/** Interface 3: every 5 s while degraded; as often while starting, so that the first success is seen soon. */
function checkPauseMs(state: WatchdogState, { checkMs, degradedCheckMs }: WatchdogSettings): number {
  return state === 'running' || state === 'crash_loop' ? checkMs : Math.min(checkMs, degradedCheckMs)
}

/** When one agent fails, others may too: whoever was not looked at for a while is, before anything is repaired. */
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
  const spell = spellSince(deps.watchdogSettings, row, now)
  if (spell) addSpell(tx, row.agentId, deps.clock.now(), spell)
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
    sendNoticeToOwner(deps, tx, agent, notice, notification.status)
  }
}

/** What its owner is told of it: operators hear of every step, owners of what changed for them. */
function sendNoticeToOwner(
  deps: RecordDeps,
  tx: Tx,
  { id, name, ownerId }: AgentRow,
  notice: WatchdogNotice,
  text: string,
) {
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

/** The row says why it is down, and a job ends what may still run: a crash in between forgets neither. */
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

/** The clock was set back while the platform was down: nothing has happened later than now. */
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

/** Ends an agent that was given up; `jobs.ts` does it. */
export const END_JOB = 'watchdog.end'

type Counts = Pick<WatchdogRow, 'attempts' | 'crashes' | 'exitCode' | 'outOfMemory'>
type Limits = Pick<WatchdogRules, 'crashLoopWindowMs' | 'crashLoopThreshold' | 'maxRepairAttempts'>
type Notice = { id: string; at: Date; notice: WatchdogNotice; agent: AgentRow; row: WatchdogRow; rules: Limits }

/** What people are told of a transition; `id` names it, so that it is told once. */
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

/** Why an agent was given up, for its owner. */
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

/** The time at the start and what has passed since: a wall clock that jumps changes no pause, window or grace. */
export function createSteadyClock(clock: Clock, elapsedMs: () => number = () => performance.now()): Clock {
  const begin = clock.now().getTime() - elapsedMs()
  return { now: () => new Date(begin + elapsedMs()) }
}

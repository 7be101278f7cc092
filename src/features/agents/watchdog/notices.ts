import type { Notification } from '../../accounts/notifications/schemas.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { Rung, WatchdogNotice, WatchdogRules } from './next-state.ts'
import type { WatchdogEventRow, WatchdogRow } from './tables.ts'

type Counts = Pick<WatchdogRow, 'attempts' | 'crashes' | 'exitCode' | 'outOfMemory' | 'rungs'>
type Limits = Pick<WatchdogRules, 'crashLoopWindowMs' | 'crashLoopThreshold' | 'maxRepairAttempts'>
type Notice = { id: string; at: Date; notice: WatchdogNotice; agent: AgentRow; row: WatchdogRow; rules: Limits } & Pick<
  WatchdogEventRow,
  'rung' | 'detail' | 'logTail'
>

/** Builds the notification of a transition; `id` prevents duplicates. */
export function describeNotice({ id, at, notice, agent, row, rules, rung, detail, logTail }: Notice): Notification {
  return {
    id,
    kind: notice,
    at: at.toISOString(),
    agent: { id: agent.id, name: agent.name },
    status: describeStatus(notice, { row, rules, rung }),
    attempt: row.attempts,
    exitCode: row.exitCode,
    outOfMemory: row.outOfMemory,
    rung,
    change: detail,
    logTail,
  }
}

/** Returns why the watchdog gave up, for the owner. */
export function giveUpReason(row: Counts, rules: Limits): string {
  return `${describeStatus('crash_loop', { row, rules, rung: null })}. Start, restart or repair it to try again`
}

/** Notices about returns, which are not restarts. */
const OF_RETURNS: Readonly<Partial<Record<WatchdogNotice, (what: string) => string>>> = {
  repair_started: (what) => `The agent goes back to its last healthy ${what}`,
  repaired: (what) => `The agent runs with its last healthy ${what} again`,
  repair_failed: (what) => `The agent does not run with its last healthy ${what} either`,
}

function describeStatus(
  notice: WatchdogNotice,
  { row, rules, rung }: { row: Counts; rules: Limits; rung: Rung | null },
): string {
  const ofReturn = rung === null || rung === 'restart' ? undefined : OF_RETURNS[notice]?.(rung)
  if (ofReturn !== undefined) return ofReturn
  const returns = notice === 'crash_loop' ? row.rungs.filter((one) => one !== 'restart') : []
  const status = STATUS[notice](row, rules)
  return returns.length === 0 ? status : `${status}; its last healthy ${returns.join(' and ')} did not help`
}

/** Returns a notification as text for the owner: what happened, the change before it, and the last output. */
export function toOwnerText({ kind, status, change, logTail }: Notification): string {
  const changed = change == null ? '' : kind === 'crash_loop' ? `. Last change: ${change}` : `: ${change}`
  return `${status}${changed}${logTail == null ? '' : `. Last output:\n${logTail}`}`
}

const STATUS: Readonly<Record<WatchdogNotice, (row: Counts, rules: Limits) => string>> = {
  degraded: (row) => `The agent does not answer its health check${ending(row)}`,
  recovered: () => 'The agent answers its health check again',
  crash: (row) => `The agent crashed${ending(row)}`,
  crash_loop: (row, rules) =>
    row.crashes.length >= rules.crashLoopThreshold
      ? `The agent crashed ${row.crashes.length} times within ${toText(rules.crashLoopWindowMs)}${ending(row)}`
      : row.attempts > 0
        ? `The agent is not healthy after ${row.attempts} repairs${ending(row)}`
        : `The agent does not start${ending(row)}`,
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

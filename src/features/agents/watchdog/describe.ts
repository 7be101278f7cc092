import type { Notification } from '../../accounts/notifications/schemas.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { WatchdogNotice, WatchdogRules } from './next-state.ts'
import type { WatchdogRow } from './tables.ts'

/** Ends an agent that was given up; `jobs.ts` does it. */
export const END_JOB = 'watchdog.end'

type Counts = Pick<WatchdogRow, 'attempts' | 'crashes' | 'exitCode' | 'outOfMemory'>
type Limits = Pick<WatchdogRules, 'crashLoopWindowMs' | 'crashLoopThreshold' | 'maxRepairAttempts'>
type Notice = { id: string; at: Date; notice: WatchdogNotice; agent: AgentRow; row: WatchdogRow; rules: Limits }

/** What people are told of a transition; `id` names it, so that it is told once. */
export function describeNotice({ id, at, notice, agent, row, rules }: Notice): Notification {
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
export function giveUpReason(row: Counts, rules: Limits): string {
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

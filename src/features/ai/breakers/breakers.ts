import { eq, inArray } from 'drizzle-orm'
import type { CountedKind } from '../../../core/agents/day-limits.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { toLocalDay } from '../../../core/local-day.ts'
import { formatMicroUsd, MAX_MICRO_USD } from '../../../core/money.ts'
import { memoize } from '../../../db/changes.ts'
import type { Db } from '../../../db/open.ts'
import { wholeList } from '../../../db/personal-data.ts'
import { findOwnerTimeZone } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Budget, RunningSums, Sums } from '../usage/quota.ts'
import {
  type CapsRow,
  type DayCountRow,
  describeAmount,
  extraOf,
  findCaps,
  findPausing,
  limitOf,
  listRecentCounts,
} from './day-limits.ts'
import type { Pause } from './schemas.ts'
import { PAUSE_SCOPES, pauses } from './tables.ts'

type PauseRow = typeof pauses.$inferSelect
/** One agent, all agents of an owner, or all agents. */
export type Paused = { scope: 'agent'; agentId: string } | { scope: 'owner'; ownerId: string } | { scope: 'platform' }

/** Caps and pauses that keep an agent from models. */
export type Breakers = {
  /** Returns the agent's daily budget, if it has one. @throws AppError `limited` AGENT_PAUSED while the agent is paused. */
  budgetOf(agentId: string): Budget | undefined
  /** Returns the agents whose calls exceeded their cap since the last call. */
  takeRefused(): ReadonlySet<string>
}

const WHO: Readonly<Record<PauseRow['scope'], string>> = {
  agent: 'This agent is paused',
  owner: 'All agents of this account are paused',
  platform: 'All agents are paused by the operator',
}

/** Caches pause and caps until the next write, because every call of an agent checks them. */
export function createBreakers({ db, clock, agentSums }: { db: Db; clock: Clock; agentSums: RunningSums }): Breakers {
  const find = memoize(db, (agentId) => {
    const caps = findCaps(db, agentId)
    const counts = caps ? listRecentCounts(db, agentId, clock.now()) : []
    return { pause: findPause(db, agentId), caps, counts, timeZone: findOwnerTimeZone(db, agentId) }
  })
  let refused = new Set<string>()
  return {
    takeRefused() {
      const taken = refused
      refused = new Set()
      return taken
    },
    budgetOf(agentId) {
      const { pause, caps, counts, timeZone } = find(agentId)
      if (pause) throw paused(pause)
      const day = toLocalDay(clock.now(), timeZone)
      const today = counts.filter((one) => one.day === day)
      const pausing = findPausing(caps, today)
      if (caps && pausing) throw pausedByLimit(caps, pausing)
      return caps
        ? toBudget(
            { caps, counts: today, timeZone },
            () => agentSums.used(agentId),
            () => refused.add(agentId),
          )
        : undefined
    },
  }
}

/** Finds the widest pause that applies to an agent. */
export function findPause(db: Db, agentId: string): PauseRow | null {
  const agent = db.select({ ownerId: agents.ownerId }).from(agents).where(eq(agents.id, agentId)).get()
  const scopes: Paused[] = [{ scope: 'agent', agentId }, { scope: 'platform' }]
  if (agent?.ownerId) scopes.push({ scope: 'owner', ownerId: agent.ownerId })
  const rows = db
    .select()
    .from(pauses)
    .where(inArray(pauses.id, scopes.map(pauseId)))
    .all()
  const width = ({ scope }: PauseRow) => PAUSE_SCOPES.indexOf(scope)
  return rows.toSorted((one, other) => width(other) - width(one))[0] ?? null
}

/** Finds the pause of exactly this scope. */
export function findPauseOf(db: Db, what: Paused): PauseRow | null {
  return (
    db
      .select()
      .from(pauses)
      .where(eq(pauses.id, pauseId(what)))
      .get() ?? null
  )
}

export function pauseId(what: Paused): string {
  if (what.scope === 'platform') return what.scope
  return `${what.scope} ${what.scope === 'agent' ? what.agentId : what.ownerId}`
}

export function toPause({ scope, reason, createdAt }: PauseRow): Pause {
  return { scope, reason, since: createdAt.toISOString() }
}

function paused({ scope, reason }: PauseRow): AppError {
  const why = reason === '' ? '' : `: ${reason}`
  return new AppError('limited', `${WHO[scope]}${why}`, { code: 'AGENT_PAUSED' })
}

function pausedByLimit(caps: CapsRow, kind: CountedKind): AppError {
  const limit = describeAmount(kind, limitOf(caps, kind) ?? 0)
  const message = `Daily limit of ${limit} reached. The agent pauses until midnight, or until its owner raises the limit.`
  return new AppError('limited', message, { code: 'AGENT_CAP_REACHED' })
}

/** The caps with what the owner has allowed beyond them today. */
type Today = { caps: CapsRow; counts: readonly DayCountRow[]; timeZone: string | null }

function toBudget({ caps, counts, timeZone }: Today, used: () => Sums, onRefused: () => void): Budget | undefined {
  const { agentId } = caps
  const tokensPerDay = caps.tokensPerDay === null ? null : caps.tokensPerDay + extraOf(counts, 'tokens')
  const costMicroUsdPerDay = caps.costMicroUsdPerDay === null ? null : caps.costMicroUsdPerDay + extraOf(counts, 'usd')
  if (tokensPerDay === null && costMicroUsdPerDay === null) return undefined
  return {
    id: `agent ${agentId}`,
    used,
    maxTokens: tokensPerDay ?? Number.POSITIVE_INFINITY,
    maxCostMicroUsd: costMicroUsdPerDay ?? Number.POSITIVE_INFINITY,
    isOfMoney: costMicroUsdPerDay !== null,
    exceeded(sums) {
      onRefused()
      const tokens = tokensPerDay === null ? [] : [`${sums.tokens} of ${tokensPerDay} tokens`]
      const cost = costMicroUsdPerDay === null ? [] : [`$${usd(sums.costMicroUsd)} of $${usd(costMicroUsdPerDay)}`]
      const message = `Daily limit of this agent reached. Used ${[...tokens, ...cost].join(', ')}. It resets at midnight ${timeZone === null ? 'UTC' : `in ${timeZone}`}.`
      return new AppError('limited', message, { code: 'AGENT_CAP_REACHED' })
    },
  }
}

function usd(microUsd: number): string {
  return formatMicroUsd(Math.min(microUsd, MAX_MICRO_USD), 2)
}

/** The pause of all agents of the account. */
export const personalPauses = wholeList('pauses', [pauses], (db, userId) =>
  db
    .select({ reason: pauses.reason, createdAt: pauses.createdAt })
    .from(pauses)
    .where(eq(pauses.ownerId, userId))
    .all(),
)

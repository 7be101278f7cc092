import { Hono, type MiddlewareHandler } from 'hono'
import { COUNTED_KINDS, LIMIT_KINDS, type LimitKind } from '../../../core/agents/day-limits.ts'
import { toDay } from '../../../core/clock.ts'
import { nextLocalMidnight, toLocalDay } from '../../../core/local-day.ts'
import { toMicroUsd, toUsd } from '../../../core/money.ts'
import { write } from '../../../db/write.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, Principal } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { toRequester } from '../../agents/operations/operations.ts'
import { findOwnerTimeZone, getAgent } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { countUnpricedCalls, type RunningSums } from '../usage/quota.ts'
import { actionOf, columnOf, extraOf, findCaps, limitOf, listDayCounts } from './day-limits.ts'
import { ChangeLimitsRequest, type DayLimit, DayLimits } from './schemas.ts'
import { agentCaps } from './tables.ts'

type LimitsDeps = Base & { agentSums: RunningSums }

/** Routes for the daily limits of an agent. Changing them needs a session or a key without limits, as tools do. */
export function limitsWeb(deps: LimitsDeps, owner: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/limits',
    endpoint({
      summary: "Returns an agent's daily limits and today's use",
      tag: 'Limits',
      responses: { 200: DayLimits },
      errors: ['not_found'],
    }),
    owner,
    (c) => c.json(showLimits(deps, getAgent(deps.db, c.var.principal, c.req.param('id')))),
  )

  app.put(
    '/api/agents/:id/limits',
    endpoint({
      summary: 'Changes the daily limits of an agent',
      tag: 'Limits',
      responses: { 200: DayLimits },
      errors: ['not_found'],
      worksOnFullDisk: true,
    }),
    owner,
    validate('json', ChangeLimitsRequest),
    async (c) => {
      const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
      await changeLimits(deps, c.var.principal, agent.id, c.req.valid('json'))
      return c.json(showLimits(deps, agent))
    },
  )

  return app
}

/** Returns the limits of an agent and what it has used today. */
export function showLimits({ db, clock, agentSums }: LimitsDeps, agent: AgentRow): DayLimits {
  const now = clock.now()
  const timeZone = findOwnerTimeZone(db, agent.id)
  const day = toLocalDay(now, timeZone)
  const caps = findCaps(db, agent.id)
  const counts = listDayCounts(db, agent.id, day)
  const sums = agentSums.used(agent.id)
  const usedOf = (kind: LimitKind) => {
    if (kind === 'usd') return sums.costMicroUsd
    return kind === 'tokens' ? sums.tokens : (counts.find((one) => one.kind === kind)?.used ?? 0)
  }
  const toShown = (kind: LimitKind): DayLimit => {
    const [limit, used, extra] = [limitOf(caps, kind), usedOf(kind), extraOf(counts, kind)]
    const shown = (amount: number) => (kind === 'usd' ? toUsd(amount) : amount)
    return {
      limit: limit === null ? null : shown(limit),
      action: actionOf(caps, kind),
      used: shown(used),
      extra: shown(extra),
      reached: limit !== null && used >= limit + extra,
      enforced: isEnforced(agent, kind),
    }
  }
  return {
    agentId: agent.id,
    timeZone: timeZone ?? 'UTC',
    day,
    resetsAt: nextLocalMidnight(now, timeZone).toISOString(),
    unpricedCalls: countUnpricedCalls(db, agent.id, toDay(now)),
    limits: {
      usd: toShown('usd'),
      tokens: toShown('tokens'),
      messages: toShown('messages'),
      toolCalls: toShown('toolCalls'),
      files: toShown('files'),
    },
  }
}

/** Money and tokens are counted by the gateway; only the built-in agent reports what else it does. */
function isEnforced({ kind: program }: AgentRow, kind: LimitKind): boolean {
  return program === 'stead' || !COUNTED_KINDS.some((counted) => counted === kind)
}

/** Changes the limits in `request`, effective at once. */
async function changeLimits(
  { db, clock }: Base,
  principal: Principal,
  agentId: string,
  request: ChangeLimitsRequest,
): Promise<void> {
  const now = clock.now()
  await write(db, (tx) => {
    getAgent(tx, principal, agentId)
    const known = findCaps(tx, agentId)
    const actions = { ...known?.actions }
    const columns: Partial<typeof agentCaps.$inferInsert> = {}
    for (const kind of LIMIT_KINDS) {
      const { limit, action } = request[kind] ?? {}
      if (action !== undefined) actions[kind] = action
      if (limit !== undefined)
        columns[columnOf(kind)] = limit === null ? null : kind === 'usd' ? toMicroUsd(limit) : limit
    }
    const row = { agentId, ...columns, actions, updatedAt: now }
    tx.insert(agentCaps).values(row).onConflictDoUpdate({ target: agentCaps.agentId, set: row }).run()
    const detail = { ...columns, actions }
    recordAudit(tx, { actor: toRequester(principal), action: 'agent.limits', target: agentId, detail }, now)
  })
}

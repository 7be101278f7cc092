import { eq } from 'drizzle-orm'
import { Hono, type MiddlewareHandler } from 'hono'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, Principal, WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { users } from '../../accounts/users/tables.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Base } from '../../base.ts'
import { getAgentHistory } from './agent-history.ts'
import { findAgentStats, type StatsDeps } from './agent-stats.ts'
import type { MeasureDisk } from './platform.ts'
import { getHistory, getPerformance, getPlatformMetrics } from './platform.ts'
import {
  AgentHistory,
  AgentHistoryQuery,
  AgentStatsResponse,
  HistoricalMetrics,
  HistoricalQuery,
  MetricsSummary,
  PerformanceMetrics,
  PlatformMetrics,
} from './schemas.ts'
import { getSummary } from './summary.ts'

/** Metrics of the signed-in user's agents. */
export function metricsWeb(deps: Base & { measureDisk: MeasureDisk; guards: Guards }) {
  const app = new Hono<WebEnv>()

  app.get(
    '/api/metrics',
    endpoint({
      summary: 'Returns metrics of your agents and the platform',
      tag: 'Metrics',
      responses: { 200: PlatformMetrics },
    }),
    deps.guards.signedIn,
    async (c) => {
      try {
        return c.json(await getPlatformMetrics(deps, c.var.user))
      } catch (cause) {
        throw new AppError('internal', 'Failed to fetch metrics', { metrics: {} }, { cause })
      }
    },
  )

  return app
}

/** Metrics of one user's agents, behind the internal key. */
export function metricsBackend(
  deps: Base & { runtimes: Pick<Runtimes, 'runtimeOf'>; internalKey: MiddlewareHandler<BackendEnv> },
) {
  const app = new Hono<BackendEnv>()
  const { internalKey } = deps

  app.get(
    '/api/metrics/:userId/historical',
    endpoint({
      summary: 'Returns hourly metrics of a user',
      tag: 'Metrics',
      responses: { 200: HistoricalMetrics },
      errors: ['not_found'],
    }),
    internalKey,
    validate('query', HistoricalQuery),
    async (c) => {
      const userId = requireUser(c.var.principal, c.req.param('userId'))
      const { range } = c.req.valid('query')
      return c.json(await orFail('Failed to fetch historical metrics', () => getHistory(deps, userId, range)))
    },
  )

  app.get(
    '/api/metrics/:userId/performance',
    endpoint({
      summary: "Returns performance metrics of a user's agents",
      tag: 'Metrics',
      responses: { 200: PerformanceMetrics },
      errors: ['not_found'],
    }),
    internalKey,
    async (c) => {
      const userId = requireUser(c.var.principal, c.req.param('userId'))
      return c.json(await orFail('Failed to fetch performance data', async () => getPerformance(deps, userId)))
    },
  )

  app.get(
    '/api/metrics/:userId/summary',
    endpoint({
      summary: 'Returns business metrics, all null: none is measured',
      tag: 'Metrics',
      responses: { 200: MetricsSummary },
      errors: ['not_found'],
    }),
    internalKey,
    async (c) => {
      const userId = requireUser(c.var.principal, c.req.param('userId'))
      return c.json(await orFail('Failed to fetch metrics summary', async () => getSummary(deps, userId)))
    },
  )

  return app

  /** @throws AppError `not_found` for a missing user, and for any user but the caller. */
  function requireUser(principal: Principal, userId: string): string {
    const isOther = principal.kind === 'user' && principal.user.id !== userId
    if (isOther || !hasUser(deps.db, userId)) throw new AppError('not_found', 'User not found')
    return userId
  }
}

function hasUser(db: Db, id: string): boolean {
  return db.select({ id: users.id }).from(users).where(eq(users.id, id)).get() !== undefined
}

/** @throws AppError `internal` with `message` for any error. */
async function orFail<T>(message: string, get: () => Promise<T>): Promise<T> {
  try {
    return await get()
  } catch (cause) {
    throw new AppError('internal', message, {}, { cause })
  }
}

/** Statistics and history of an agent, in the web and the backend API. */
export function agentStatsRoutes(deps: StatsDeps, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/stats',
    endpoint({
      summary: 'Returns the current resource usage of an agent',
      tag: 'Metrics',
      responses: { 200: AgentStatsResponse },
      errors: ['not_found'],
    }),
    guard,
    async (c) => {
      const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
      return c.json({ stats: await findAgentStats(deps, agent), status: 'ok' })
    },
  )

  app.get(
    '/api/agents/:id/metrics',
    endpoint({
      summary: 'Returns metrics of an agent over time',
      tag: 'Metrics',
      responses: { 200: AgentHistory },
      errors: ['not_found'],
    }),
    guard,
    validate('query', AgentHistoryQuery),
    (c) => {
      const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
      return c.json(getAgentHistory(deps, agent, c.req.valid('query').range))
    },
  )

  return app
}

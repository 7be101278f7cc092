import { Hono } from 'hono'
import { type Clock, toDay } from '../../../core/clock.ts'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { type Exports, sendExport } from '../../../http/streams/exports.ts'
import { validate } from '../../../http/validate.ts'
import { listUsageByDay } from './by-day.ts'
import { exportUsageCsv } from './calls.ts'
import { getCostDashboard } from './cost-dashboard.ts'
import type { UsageRecorder } from './recorder.ts'
import { CostDashboard, CostQuery, MonthQuery, UsageByDay } from './schemas.ts'

/** Cost, usage and calls of the signed-in user. */
export function usageWeb(deps: {
  db: Db
  clock: Clock
  log: Log
  guards: Guards
  exports: Exports
  usage: Pick<UsageRecorder, 'flush'>
}) {
  const app = new Hono<WebEnv>()
  app.get(
    '/api/dashboard/cost',
    endpoint({ summary: 'Returns costs by agent, model and day', tag: 'Usage', responses: { 200: CostDashboard } }),
    deps.guards.signedIn,
    validate('query', CostQuery),
    async (c) => {
      await deps.usage.flush()
      return c.json(await getCostDashboard(deps, c.var.user.id, c.req.valid('query').period))
    },
  )

  app.get(
    '/api/usage/export',
    endpoint({
      summary: 'Exports every call as CSV',
      tag: 'Usage',
      responses: { 200: 'text/csv' },
      errors: ['limited'],
    }),
    deps.guards.signedIn,
    validate('query', MonthQuery),
    async (c) => {
      await deps.usage.flush()
      return sendExport(c, deps, () => ({
        name: `usage-${toDay(deps.clock.now())}.csv`,
        type: 'text/csv; charset=utf-8; header=present',
        pieces: exportUsageCsv(deps, c.var.user.id, c.req.valid('query').days),
      }))
    },
  )

  app.get(
    '/api/usage/by-day',
    endpoint({
      summary: 'Summarizes your usage by day, agent, key, model',
      tag: 'Usage',
      responses: { 200: UsageByDay },
    }),
    deps.guards.signedIn,
    validate('query', MonthQuery),
    async (c) => {
      await deps.usage.flush()
      return c.json(await listUsageByDay(deps, c.var.user.id, c.req.valid('query').days))
    },
  )

  return app
}

import { Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { UsageRecorder } from '../../ai/usage/recorder.ts'
import { MonthQuery } from '../../ai/usage/schemas.ts'
import { getCostAnomalies } from './anomalies.ts'
import { reconcileCosts } from './reconcile-costs.ts'
import { CostAnomalies, Reconciliation } from './schemas.ts'

/** Unusual costs of the signed-in user's agents, and reported costs next to list prices. */
export function costsWeb(deps: {
  db: Db
  clock: Clock
  guards: Pick<Guards, 'signedIn'>
  usage: Pick<UsageRecorder, 'flush'>
}) {
  const app = new Hono<WebEnv>()

  app.get(
    '/api/usage/anomalies',
    endpoint({
      summary: 'Reports unusual costs of agents, and their idle cost',
      tag: 'Usage',
      responses: { 200: CostAnomalies },
    }),
    deps.guards.signedIn,
    async (c) => {
      await deps.usage.flush()
      return c.json(await getCostAnomalies(deps, c.var.user.id))
    },
  )

  app.get(
    '/api/usage/reconciliation',
    endpoint({
      summary: 'Compares reported costs with list prices',
      tag: 'Usage',
      responses: { 200: Reconciliation },
    }),
    deps.guards.signedIn,
    validate('query', MonthQuery),
    async (c) => {
      await deps.usage.flush()
      return c.json(await reconcileCosts(deps, c.var.user.id, c.req.valid('query').days))
    },
  )

  return app
}

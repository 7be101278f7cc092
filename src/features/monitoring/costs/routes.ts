import { Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import type { UsageRecorder } from '../../ai/usage/recorder.ts'
import { getCostAnomalies } from './anomalies.ts'
import { CostAnomalies } from './schemas.ts'

/** Unusual costs of the signed-in user's agents. */
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

  return app
}

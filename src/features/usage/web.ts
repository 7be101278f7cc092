import { Hono } from 'hono'
import { type Clock, toDay } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { Db } from '../../db/open.ts'
import type { WebEnv } from '../../http/env.ts'
import type { Guards } from '../../http/session.ts'
import { streamText } from '../../http/stream-text.ts'
import { validate } from '../../http/validate.ts'
import { getCostDashboard } from './cost-dashboard.ts'
import { exportUsageCsv } from './export-csv.ts'
import type { UsageRecorder } from './record.ts'
import { CostQuery, MonthQuery } from './schemas.ts'

/** What the signed-in user's agents cost (Spec 4.10). */
export function usageWeb(deps: { db: Db; clock: Clock; log: Log; guards: Guards; usage: UsageRecorder }) {
  const app = new Hono<WebEnv>()
  app.get('/api/dashboard/cost', deps.guards.signedIn, validate('query', CostQuery), async (c) => {
    // What was just used must be on the page.
    await deps.usage.flush()
    return c.json(getCostDashboard(deps, c.var.user.id, c.req.valid('query').period))
  })

  app.get('/api/usage/export', deps.guards.signedIn, validate('query', MonthQuery), async (c) => {
    await deps.usage.flush()
    const day = toDay(deps.clock.now())
    c.header('content-type', 'text/csv; charset=utf-8; header=present')
    c.header('content-disposition', `attachment; filename="usage-${day}.csv"`)
    return c.body(streamText(exportUsageCsv(deps, c.var.user.id, c.req.valid('query').days)))
  })

  return app
}

import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { getPlatformMetrics, type PlatformMetricsDeps } from './platform.ts'
import { PlatformMetrics } from './schemas.ts'

/** Everything about one's own agents on one page (Interface 4.15). */
export function metricsWeb(deps: PlatformMetricsDeps & { guards: Guards }) {
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

import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../../../core/errors.ts'
import { isSameSecret } from '../../../core/secrets.ts'
import { isForwarded, isLocalName, isLoopback } from '../../../http/address.ts'
import { describeMiddleware, endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { readBearer } from '../../../http/internal-key.ts'
import type { Exposition } from './registry.ts'

/** `GET /metrics` in the Prometheus text format, version 0.0.4. */
export function metricsExposition({
  exposition,
  metricsToken,
}: {
  exposition: Exposition
  metricsToken: string | undefined
}) {
  const app = new Hono<BackendEnv>()
  app.get(
    '/metrics',
    endpoint({ summary: 'Returns Prometheus metrics', tag: 'Health', responses: { 200: 'text/plain' } }),
    requireMetricsToken(metricsToken),
    async (c) => c.body(await exposition.write(), 200, { 'content-type': exposition.contentType }),
  )
  return app
}

/**
 * Accepts callers with `METRICS_TOKEN`; without that setting, direct callers on this machine.
 * @throws AppError `unauthenticated` without a bearer token, `forbidden` otherwise.
 */
function requireMetricsToken(metricsToken: string | undefined) {
  return describeMiddleware(
    createMiddleware<BackendEnv>(async (c, next) => {
      const token = readBearer(c.req.header('authorization'))
      if (metricsToken === undefined) {
        // A request through a local proxy, or for a rebound DNS name, comes from loopback but not from this machine.
        const isDirect = !isForwarded(c.req.raw.headers) && isLocalName(new URL(c.req.url).hostname)
        if (!isDirect || !isLoopback(c.env.address ?? ''))
          throw new AppError('forbidden', 'Set METRICS_TOKEN to read this from another machine')
      } else if (token === null) throw new AppError('unauthenticated', 'Unauthorized')
      else if (!isSameSecret(token, metricsToken)) throw new AppError('forbidden', 'Forbidden')
      await next()
    }),
    { guard: 'metrics-token' },
  )
}

import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { requireMetricsToken } from './guard.ts'
import type { Exposition } from './registry.ts'

export type WatchingBackendDeps = { exposition: Exposition; metricsToken: string | undefined }

/** What the program does, for Prometheus and whatever reads its text form (version 0.0.4). */
export function watchingBackend({ exposition, metricsToken }: WatchingBackendDeps) {
  const app = new Hono<BackendEnv>()
  app.get(
    '/metrics',
    endpoint({ summary: 'Returns Prometheus metrics', tag: 'Health', responses: { 200: 'text/plain' } }),
    requireMetricsToken(metricsToken),
    async (c) => c.body(await exposition.write(), 200, { 'content-type': exposition.contentType }),
  )
  return app
}

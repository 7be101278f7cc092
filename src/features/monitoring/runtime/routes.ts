import { Hono, type MiddlewareHandler } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { getInstanceStats, getRuntimeVersion, listInstances, type RuntimeDeps } from './instances.ts'
import { RuntimeInstanceStats, RuntimeInstances, RuntimeVersion } from './schemas.ts'

/** The agents' runtime: its version is public, the rest needs the internal key. */
export function runtimeBackend(deps: RuntimeDeps & { internalKey: MiddlewareHandler<BackendEnv> }) {
  const app = new Hono<BackendEnv>()
  const { internalKey } = deps

  app.get(
    '/api/runtime/version',
    endpoint({ summary: 'Returns the version agents run', tag: 'Metrics', responses: { 200: RuntimeVersion } }),
    async (c) => c.json(await getRuntimeVersion(deps)),
  )

  app.get(
    '/api/runtime/instances',
    endpoint({ summary: 'Lists running agents', tag: 'Metrics', responses: { 200: RuntimeInstances } }),
    internalKey,
    async (c) => {
      const instances = await listInstances(deps, c.var.principal)
      return c.json({ instances, count: instances.length })
    },
  )

  app.get(
    '/api/runtime/instances/:id/stats',
    endpoint({
      summary: 'Returns the resource usage of a running agent',
      tag: 'Metrics',
      responses: { 200: RuntimeInstanceStats },
      errors: ['not_found', 'conflict'],
    }),
    internalKey,
    async (c) => c.json(await getInstanceStats(deps, c.var.principal, c.req.param('id'))),
  )

  return app
}

import { Hono } from 'hono'
import type { Clock } from '../../core/clock.ts'
import type { BackendEnv } from '../../http/env.ts'

export type HealthBackendDeps = { clock: Clock; isDockerAvailable: () => Promise<boolean>; killSwitch: boolean }

/** Public: is the backend up, can it reach a container engine, does it provision (Spec 4.9). Always 200. */
export function healthBackend(deps: HealthBackendDeps) {
  const app = new Hono<BackendEnv>()
  app.get('/health', async (c) =>
    c.json({
      status: 'ok',
      timestamp: deps.clock.now().toISOString(),
      docker: (await deps.isDockerAvailable()) ? 'available' : 'unavailable',
      provisioning: deps.killSwitch ? 'disabled' : 'enabled',
    }),
  )
  return app
}

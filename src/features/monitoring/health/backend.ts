import { Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import type { FindFaults } from './readiness.ts'
import { BackendHealth } from './schemas.ts'

export type HealthBackendDeps = {
  clock: Clock
  findFaults: FindFaults
  isDockerAvailable: () => Promise<boolean>
  killSwitch: boolean
}

/**
 * Public: is the backend up, can it reach a container engine, does it provision (Interface 4.9). Always 200; `degraded` while
 * users' writes fail, and then `failing` names what is the matter.
 */
export function healthBackend(deps: HealthBackendDeps) {
  const app = new Hono<BackendEnv>()
  app.get(
    '/health',
    endpoint({
      summary: 'Checks database writes, containers and provisioning',
      tag: 'Health',
      responses: { 200: BackendHealth },
    }),
    async (c) => {
      const [failing, hasDocker] = await Promise.all([deps.findFaults(), deps.isDockerAvailable()])
      return c.json({
        status: failing.length === 0 ? 'ok' : 'degraded',
        timestamp: deps.clock.now().toISOString(),
        docker: hasDocker ? 'available' : 'unavailable',
        provisioning: deps.killSwitch ? 'disabled' : 'enabled',
        ...(failing.length > 0 && { failing }),
      })
    },
  )
  return app
}

import { Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { FindFaults } from './readiness.ts'
import { type HostHealth, WebHealth } from './schemas.ts'

export type HealthWebDeps = { clock: Clock; log: Log; findFaults: FindFaults; probeHost: () => HostHealth }

/**
 * Public: is the web app up, and how busy is its machine (Interface 4.9). A machine that is not busy is `degraded` all the same
 * while users' writes fail, and then `failing` names what is the matter.
 */
export function healthWeb(deps: HealthWebDeps) {
  const app = new Hono<WebEnv>()
  app.get(
    '/api/health',
    endpoint({ summary: 'Returns the load of the machine', tag: 'Health', responses: { 200: WebHealth } }),
    async (c) => {
      const failing = await deps.findFaults()
      const timestamp = deps.clock.now().toISOString()
      try {
        const { health: load, cpu, memory, uptime } = deps.probeHost()
        const health = load === 'healthy' && failing.length > 0 ? 'degraded' : load
        const answer = { status: 'ok', health, timestamp, cpu, memory, uptime }
        return c.json(failing.length > 0 ? { ...answer, failing } : answer)
      } catch (error) {
        deps.log.error({ error: errorMessage(error) }, 'cannot measure the machine')
        return c.json({ status: 'error', health: 'unhealthy', timestamp }, 500)
      }
    },
  )
  return app
}

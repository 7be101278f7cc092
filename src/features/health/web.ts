import { Hono } from 'hono'
import type { Clock } from '../../core/clock.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { WebEnv } from '../../http/env.ts'
import type { HostHealth } from './host.ts'

/** Public: is the web app up, and how busy is its machine (Spec 4.9). */
export function healthWeb(deps: { clock: Clock; log: Log; probeHost: () => HostHealth }) {
  const app = new Hono<WebEnv>()
  app.get('/api/health', (c) => {
    const timestamp = deps.clock.now().toISOString()
    try {
      const { health, cpu, memory, uptime } = deps.probeHost()
      return c.json({ status: 'ok', health, timestamp, cpu, memory, uptime })
    } catch (error) {
      deps.log.error({ error: errorMessage(error) }, 'cannot measure the machine')
      return c.json({ status: 'error', health: 'unhealthy', timestamp }, 500)
    }
  })
  return app
}

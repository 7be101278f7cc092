import { Hono } from 'hono'
import type { Clock } from '../core/clock.ts'
import { listenAgent, type RunningAgent } from './server.ts'

/**
 * Starts an agent whose required settings are missing: alive, so that it is not restarted in a loop, but never ready.
 * Probes name the `missing` variables; every other route answers 503.
 * @throws StartupError as `listen`.
 */
export function startUnconfigured(
  place: { host: string; port: number },
  missing: readonly string[],
  clock: Clock,
): RunningAgent {
  const startedAt = clock.now().getTime()
  const message = `The agent is not configured: ${missing.join(', ')} not set`
  const app = new Hono()
  app.get('/healthz', (c) => c.json({ ok: true, status: 'live' }))
  app.get('/startupz', (c) => c.json({ ok: true, status: 'started' }))
  app.get('/readyz', (c) =>
    c.json({ ready: false, failing: missing, uptimeMs: clock.now().getTime() - startedAt }, 503),
  )
  app.notFound((c) => c.json({ error: { message, type: 'unavailable' } }, 503))
  const server = listenAgent(place, app.fetch)
  return {
    url: `http://${server.hostname}:${server.port}`,
    port: server.port ?? place.port,
    stop: () => server.stop(),
  }
}

import { Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, BaseEnv, WebEnv } from '../../../http/env.ts'
import type { FindFailing, FindFaults } from './readiness.ts'
import {
  Alive,
  BackendHealth,
  Failing,
  type HostHealth,
  SummarizerDescription,
  SummarizerHealth,
  WebHealth,
} from './schemas.ts'

/** Public health of the web API with the load of its machine. `degraded` with `failing` while user writes fail. */
export function healthWeb(deps: { clock: Clock; log: Log; findFaults: FindFaults; probeHost: () => HostHealth }) {
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

/** Public health of the backend API, always with status 200. `degraded` with `failing` while user writes fail. */
export function healthBackend(deps: {
  clock: Clock
  findFaults: FindFaults
  isDockerAvailable: () => Promise<boolean>
  killSwitch: boolean
}) {
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

const NO_PAYMENT = 'No payment is asked for.'
const PAYMENT = 'No payment is required; payTo takes USDC on Base from those who wish to pay.'

const DESCRIPTION = {
  service: 'stead-summarizer',
  description: 'Reads web pages and answers with what stands in them.',
  endpoints: {
    'GET /': 'this description',
    'GET /health': 'liveness and version',
    'POST /api/summarize':
      'title, description, headings and paragraphs of a page; format: markdown adds its main content',
    'POST /api/extract': 'links, images and metadata of a page',
  },
} as const

/** Public description and health of the summarizer. `payTo` is null when no payment address is configured. */
export function healthSummarizer(deps: { version: string; payTo: string | null }) {
  const app = new Hono<BaseEnv>()

  const { payTo } = deps
  const payment = { network: 'base', currency: 'USDC', payTo, note: payTo === null ? NO_PAYMENT : PAYMENT } as const

  app.get(
    '/',
    endpoint({
      summary: 'Describes the summarizer and its price',
      tag: 'Health',
      responses: { 200: SummarizerDescription },
    }),
    (c) => c.json({ ...DESCRIPTION, payment }),
  )

  app.get(
    '/health',
    endpoint({ summary: "Returns the summarizer's health", tag: 'Health', responses: { 200: SummarizerHealth } }),
    (c) => c.json({ status: 'ok', service: 'stead-summarizer', version: deps.version }),
  )

  return app
}

/** Public liveness and readiness probes on every port. They name failing parts and nothing else. */
export function probes(deps: { findFailing: FindFailing }) {
  const app = new Hono<BaseEnv>()

  app.get('/healthz', endpoint({ summary: 'Returns liveness', tag: 'Health', responses: { 200: Alive } }), (c) =>
    c.json({ status: 'ok' }),
  )

  app.get(
    '/readyz',
    endpoint({ summary: 'Returns readiness', tag: 'Health', responses: { 200: Alive, 503: Failing } }),
    async (c) => {
      const failing = c.env.stopping?.aborted ? ['stopping'] : await deps.findFailing()
      return failing.length === 0 ? c.json({ status: 'ok' }) : c.json({ status: 'failing', failing }, 503)
    },
  )

  return app
}

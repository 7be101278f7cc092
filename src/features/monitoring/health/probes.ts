import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { BaseEnv } from '../../../http/env.ts'
import type { FindFailing } from './readiness.ts'
import { Alive, Failing } from './schemas.ts'

/** Public, on every port (decisions, 55): does the process live, and is it of use? They tell no more than which part fails. */
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

import { Hono } from 'hono'
import type { BaseEnv } from '../../http/env.ts'

/** Public: what the summarizer service is and that it is up (Spec 4.14). */
export function healthSummarizer(deps: { version: string }) {
  const app = new Hono<BaseEnv>()

  app.get('/', (c) =>
    c.json({
      service: 'stead-summarizer',
      description: 'Reads web pages and answers with what stands in them.',
      endpoints: { 'GET /': 'this description', 'GET /health': 'liveness and version' },
      payment: { network: 'base', currency: 'USDC', payTo: null, note: 'No payment is asked for.' },
    }),
  )

  app.get('/health', (c) => c.json({ status: 'ok', service: 'stead-summarizer', version: deps.version }))

  return app
}

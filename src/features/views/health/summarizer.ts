import { Hono } from 'hono'
import { answers } from '../../../http/answers.ts'
import type { BaseEnv } from '../../../http/env.ts'
import { SummarizerDescription, SummarizerHealth } from './schemas.ts'

const NO_PAYMENT = 'No payment is asked for.'
const PAYMENT = 'No payment is required; payTo takes USDC on Base from those who wish to pay.'

/** Public: what the summarizer service is and that it is up (Interface 4.14). `payTo` is null when nobody is to be paid. */
export function healthSummarizer(deps: { version: string; payTo: string | null }) {
  const app = new Hono<BaseEnv>()

  app.get('/', answers({ 200: SummarizerDescription }), (c) =>
    c.json({
      service: 'stead-summarizer',
      description: 'Reads web pages and answers with what stands in them.',
      endpoints: {
        'GET /': 'this description',
        'GET /health': 'liveness and version',
        'POST /api/summarize':
          'title, description, headings and paragraphs of a page; format: markdown adds its main content',
        'POST /api/extract': 'links, images and metadata of a page',
      },
      payment: {
        network: 'base',
        currency: 'USDC',
        payTo: deps.payTo,
        note: deps.payTo === null ? NO_PAYMENT : PAYMENT,
      },
    }),
  )

  app.get('/health', answers({ 200: SummarizerHealth }), (c) =>
    c.json({ status: 'ok', service: 'stead-summarizer', version: deps.version }),
  )

  return app
}

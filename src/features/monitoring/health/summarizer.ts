import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { BaseEnv } from '../../../http/env.ts'
import { SummarizerDescription, SummarizerHealth } from './schemas.ts'

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

/** Public: what the summarizer service is and that it is up (Interface 4.14). `payTo` is null when nobody is to be paid. */
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

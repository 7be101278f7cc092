import { type Context, Hono } from 'hono'
import type { Egress } from '../../../adapters/egress/egress.ts'
import type { PageReader } from '../../../adapters/pages/reader.ts'
import type { WebSearch } from '../../../adapters/search/search.ts'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import type { Base } from '../../base.ts'
import { requireTool } from '../../conversations/agent-tools/settings.ts'
import { HttpResponse } from '../../payments/paid-calls/schemas.ts'
import { PageError, type ReadUrlDeps, summarize } from '../summarizer/pages.ts'
import { requestForAgent } from './request.ts'
import { FoundPages, HttpRequest, PageRequest, PageText, SearchRequest } from './schemas.ts'

/** Serves web pages, search and HTTP requests to agents; the egress client blocks private addresses. */
export function agentWebBackend(
  deps: Base & {
    egress: Egress
    callers: CallerFinder
    webSearch: WebSearch
    requestsPerMinute: { backend: number }
    pages: PageReader
  },
) {
  const app = new Hono<AgentCallerEnv>()
  const agent = requireAgent(deps.callers)
  const whoAsks = (c: Context) => String(c.get('agentId'))
  const limit = limitRate(() => deps.requestsPerMinute.backend, 'Too many requests, please slow down.', whoAsks)

  app.post(
    '/v1/pages',
    endpoint({
      summary: 'Reads a web page as Markdown',
      tag: 'Web',
      responses: { 200: PageText },
      errors: ['not_found', 'upstream_failed'],
    }),
    agent,
    limit,
    validate('json', PageRequest),
    async (c) => {
      requireTool(deps.db, c.var.agentId, 'read_page')
      return c.json(await readPage(deps, c.req.valid('json').url))
    },
  )

  app.post(
    '/v1/search',
    endpoint({
      summary: 'Searches the web',
      tag: 'Web',
      responses: { 200: FoundPages },
      errors: ['not_found', 'upstream_failed', 'unavailable'],
    }),
    agent,
    limit,
    validate('json', SearchRequest),
    async (c) => {
      requireTool(deps.db, c.var.agentId, 'web_search')
      return c.json({ results: await deps.webSearch.search(c.req.valid('json').query) })
    },
  )

  app.post(
    '/v1/http',
    endpoint({
      summary: 'Sends an HTTP request to an allowed host',
      tag: 'Web',
      responses: { 200: HttpResponse },
      errors: ['not_found', 'conflict', 'upstream_failed'],
    }),
    agent,
    limit,
    validate('json', HttpRequest),
    async (c) => {
      requireTool(deps.db, c.var.agentId, 'http_request')
      return c.json(await requestForAgent(deps, c.var.agentId, c.req.valid('json')))
    },
  )

  return app
}

/** Returns the main content of a page, or its full text when it has none. @throws AppError `upstream_failed`. */
async function readPage(deps: ReadUrlDeps, url: string) {
  try {
    const page = await summarize(deps, { url, format: 'markdown' })
    const { title, finalUrl, publishedAt, markdown, paragraphs } = page
    return { title, url: finalUrl, publishedAt, markdown: markdown ?? paragraphs.join('\n\n') }
  } catch (error) {
    if (error instanceof PageError) throw new AppError('upstream_failed', error.message, {}, { cause: error })
    throw error
  }
}

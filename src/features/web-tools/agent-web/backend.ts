import { type Context, Hono } from 'hono'
import { EgressError } from '../../../adapters/egress/error.ts'
import type { PageReader } from '../../../adapters/pages/reader.ts'
import type { WebSearch } from '../../../adapters/search/search.ts'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import type { EgressEnforcement } from '../../agents/egress/enforce.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import type { Base } from '../../base.ts'
import { listHttpHosts, requireTool } from '../../conversations/agent-tools/settings.ts'
import { claimApproval } from '../../conversations/approvals/decide.ts'
import { HttpResponse } from '../../payments/paid-calls/schemas.ts'
import { PageError, type ReadUrlDeps, summarize } from '../summarizer/pages.ts'
import { FoundPages, HttpArguments, HttpRequest, PageRequest, PageText, SearchRequest } from './schemas.ts'

/** Serves web pages, search and HTTP requests to agents, as far as their egress policies allow. */
export function agentWebBackend(
  deps: Base & {
    egressEnforcement: Pick<EgressEnforcement, 'egressOf' | 'requireSome'>
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
      const egress = deps.egressEnforcement.egressOf(c.var.agentId)
      return c.json(await readPage({ ...deps, egress }, c.req.valid('json').url))
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
      deps.egressEnforcement.requireSome(c.var.agentId)
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

const TIMEOUT_MS = 20_000
const MAX_BYTES = 512 * 1024
/** Safe methods change nothing on the server (RFC 9110, 9.2.1). */
const SAFE_METHODS = new Set(['GET', 'HEAD'])

/**
 * Sends an agent's request to a host that its owner allows. A method that may change something needs the owner's
 * approval of exactly this request; the approval is used up before sending. Redirects are not followed: they could lead
 * to another host.
 * @throws AppError `invalid`, `forbidden` for another host or without an approval, `conflict` for an approval that is
 * not valid, `upstream_failed` when the host does not answer.
 */
async function requestForAgent(
  deps: Base & { egressEnforcement: Pick<EgressEnforcement, 'egressOf'> },
  agentId: string,
  asked: { arguments: string; approvalId?: string | null | undefined },
) {
  const { url, method, headers, body } = parseArguments(asked.arguments)
  requireHost(listHttpHosts(deps.db, agentId), new URL(url).hostname)
  if (!SAFE_METHODS.has(method)) {
    if (!asked.approvalId) throw new AppError('forbidden', 'The owner has not approved that', { code: 'NOT_APPROVED' })
    await claimApproval(deps, agentId, asked.approvalId, { tool: 'http_request', arguments: asked.arguments })
  }
  try {
    const limits = { timeoutMs: TIMEOUT_MS, maxRedirects: 0, maxBytes: MAX_BYTES, maxWireBytes: MAX_BYTES }
    const egress = deps.egressEnforcement.egressOf(agentId)
    const response = await egress.request(url, { method, headers, ...(body !== undefined && { body }), ...limits })
    const bytes = await response.bytes()
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: new TextDecoder().decode(bytes),
    }
  } catch (error) {
    if (error instanceof EgressError) throw new AppError('upstream_failed', error.message, {}, { cause: error })
    throw error
  }
}

function parseArguments(text: string): HttpArguments {
  const parsed = HttpArguments.safeParse(JSON.parse(text))
  if (parsed.success) return parsed.data
  throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'The arguments are not valid')
}

function requireHost(hosts: readonly string[], host: string): void {
  const isAllowed = hosts.some((allowed) =>
    allowed.startsWith('*.') ? host.endsWith(allowed.slice(1)) : host === allowed,
  )
  if (isAllowed) return
  throw new AppError('forbidden', `The owner of this agent has not allowed the host ${host}`, {
    code: 'HOST_NOT_ALLOWED',
  })
}

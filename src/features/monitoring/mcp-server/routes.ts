import { type Context, Hono } from 'hono'
import { except } from 'hono/combine'
import { createMiddleware } from 'hono/factory'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { VERSION } from '../../../core/version.ts'
import { receiveText } from '../../../http/bodies/body.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { readBearer } from '../../../http/internal-key.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import type { VerifyKey } from '../../accounts/keys/verify.ts'
import { type McpToolDeps, registerTools } from './tools.ts'

type McpServerDeps = McpToolDeps & {
  guards: Guards
  verifyKey: VerifyKey
  requestsPerMinute: { backend: number; chat: number }
}

/**
 * The platform as an MCP server over streamable HTTP without sessions (MCP 2025-06-18, Transports). Each request
 * carries its key; each tool requires the scope of the equivalent route.
 */
export function mcpServerWeb(deps: McpServerDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const whoAsks = (c: Context) => String(c.get('holder'))
  const limit = limitRate(() => deps.requestsPerMinute.backend, 'Too many requests, please slow down.', whoAsks)
  // Messages to an agent share the limit of the chat.
  const talkLimit = limitRate(() => deps.requestsPerMinute.chat, 'Too many requests, please slow down.', whoAsks)

  app.post(
    '/mcp',
    endpoint({
      summary: 'Handles a Model Context Protocol message',
      tag: 'MCP server',
      responses: {
        200: 'application/json',
        202: null,
        404: 'application/json',
        405: 'application/json',
        406: 'application/json',
        415: 'application/json',
      },
      errors: ['invalid', 'not_found', 'conflict', 'limited', 'unavailable'],
      scope: 'any',
    }),
    signedIn,
    limit,
    readMessage,
    except((c) => !isTalk(c.get('message')), talkLimit),
    (c) => answerMcp(deps, c),
  )

  // The server has no stream of its own and no session to end.
  app.get(
    '/mcp',
    endpoint({
      summary: 'Returns 405: streams are not supported',
      tag: 'MCP server',
      responses: { 405: 'application/json' },
      scope: 'any',
    }),
    signedIn,
    (c) => refuseMethod(c),
  )
  app.delete(
    '/mcp',
    endpoint({
      summary: 'Returns 405: sessions are not supported',
      tag: 'MCP server',
      responses: { 405: 'application/json' },
      scope: 'any',
    }),
    signedIn,
    (c) => refuseMethod(c),
  )

  return app
}

const TalkCall = z.looseObject({ params: z.looseObject({ name: z.literal('talk_to_agent') }) })

/** Statuses that the protocol uses. */
const STATUSES = [200, 202, 400, 404, 405, 406, 413, 415] as const

/** `message` holds the request body: the rate limit depends on the tool it calls. */
type MessageEnv = WebEnv & { Variables: { message: string } }

const readMessage = createMiddleware<MessageEnv>(async (c, next) => {
  c.set('message', await receiveText(c))
  await next()
})

/** Returns whether the message calls `talk_to_agent`. Invalid JSON is rejected later by the transport. */
function isTalk(body: string): boolean {
  try {
    return TalkCall.safeParse(JSON.parse(body)).success
  } catch {
    return false
  }
}

async function answerMcp(deps: McpServerDeps, c: Context<MessageEnv>): Promise<Response> {
  const body = c.var.message
  c.env.keepOpen?.(c.req.raw)
  const scopes = findScopes(deps, readBearer(c.req.header('authorization')), c.env.address)
  requireOneMessage(body)
  // Loaded on first use: most installations have no MCP client.
  const { McpServer, WebStandardStreamableHTTPServerTransport } = await import('@modelcontextprotocol/server')
  const server = new McpServer({ name: 'stead', version: VERSION })
  registerTools(server, deps, { user: c.var.user, scopes, signal: c.req.raw.signal })
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  try {
    await server.connect(transport)
    const { url, headers } = c.req.raw
    const response = await transport.handleRequest(new Request(url, { method: 'POST', headers, body }))
    // Copying into `c` keeps the headers that the middleware has set.
    for (const [name, value] of response.headers) c.header(name, value)
    return c.body(await response.text(), STATUSES.find((status) => status === response.status) ?? 500)
  } finally {
    await server.close()
  }
}

/** Returns no scopes for a session. @throws AppError `unauthenticated` for a key revoked while the body arrived. */
function findScopes({ verifyKey }: McpServerDeps, key: string | null, address: string | null): readonly string[] {
  if (!key?.startsWith('sk_')) return []
  const known = verifyKey(key, { address })
  if (!known) throw new AppError('unauthenticated', 'Unauthorized')
  return known.scopes
}

/** Rejects batches: the protocol no longer has them, and the rate limit counts requests. @throws AppError `invalid`. */
function requireOneMessage(body: string): void {
  if (/^\s*\[/.test(body)) throw new AppError('invalid', 'Send one message at a time: batches are not served')
}

function refuseMethod(c: Context): Response {
  c.header('allow', 'POST')
  return c.json({ error: 'Method not allowed' }, 405)
}

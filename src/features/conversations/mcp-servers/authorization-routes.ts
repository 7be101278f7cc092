import { type Context, Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { findSessionToken } from '../../../http/sessions/cookie.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { AuthorizationDeps } from './authorizations.ts'
import { toConnectUrl } from './authorizations.ts'
import { disconnect, finishAuthorization, startAuthorization } from './authorize.ts'
import { MCP_DIRECTORY } from './directory.ts'
import { AuthorizeRequest, CallbackQuery, EndedAuthorization, McpDirectory, StartedAuthorization } from './schemas.ts'

/**
 * Routes for the OAuth access of agents to MCP servers. Connecting needs a session, because the callback has to come
 * from the same browser.
 */
export function mcpAuthorizationsWeb(
  deps: AuthorizationDeps & { guards: Pick<Guards, 'signedIn' | 'withSession' | 'findSession'>; isHttps: boolean },
) {
  const app = new Hono<WebEnv>()
  const { signedIn, withSession, findSession } = deps.guards

  app.get(
    '/api/mcp/directory',
    endpoint({ summary: 'Lists well-known MCP servers', tag: 'MCP servers', responses: { 200: McpDirectory } }),
    signedIn,
    (c) => c.json({ servers: MCP_DIRECTORY } satisfies McpDirectory),
  )

  app.post(
    '/api/agents/:id/mcp-servers/:serverId/authorization',
    endpoint({
      summary: 'Starts to connect an MCP server with OAuth',
      tag: 'MCP servers',
      responses: { 200: StartedAuthorization },
      errors: ['not_found', 'conflict', 'upstream_failed', 'upstream_timeout'],
    }),
    withSession,
    validate('json', AuthorizeRequest),
    async (c) => {
      const { id: agentId, serverId } = c.req.param()
      // Discovery asks several servers in turn.
      c.env.keepOpen?.(c.req.raw)
      const place = { principal: { kind: 'user', user: c.var.user } as const, agentId, serverId }
      const browser = { userId: c.var.user.id, session: requireSession(c, deps.isHttps) }
      return c.json(await startAuthorization(deps, { ...place, browser }, c.req.valid('json')))
    },
  )

  app.get(
    '/api/mcp/callback',
    endpoint({
      summary: 'Completes the connection of an MCP server',
      tag: 'MCP servers',
      responses: { 302: null },
      errors: ['internal'],
    }),
    validate('query', CallbackQuery),
    async (c) => {
      c.env.keepOpen?.(c.req.raw)
      const user = await findSession(c)
      if (!user) return c.redirect('/login')
      const browser = { userId: user.id, session: requireSession(c, deps.isHttps) }
      const { outcome, agentId } = await finishAuthorization(deps, browser, c.req.valid('query'))
      const page = agentId === null ? `${deps.appUrl}/agents` : toConnectUrl(deps.appUrl, agentId)
      return c.redirect(`${page}?mcp=${outcome}`)
    },
  )

  app.delete(
    '/api/agents/:id/mcp-servers/:serverId/authorization',
    endpoint({
      summary: 'Disconnects an MCP server and revokes its tokens',
      tag: 'MCP servers',
      responses: { 200: EndedAuthorization },
      errors: ['not_found'],
    }),
    signedIn,
    async (c) => {
      const { id, serverId } = c.req.param()
      c.env.keepOpen?.(c.req.raw)
      return c.json(await disconnect(deps, { kind: 'user', user: c.var.user }, id, serverId))
    },
  )

  return app
}

function requireSession(c: Context<WebEnv>, isHttps: boolean): string {
  const token = findSessionToken(c, isHttps)
  if (token === null) throw new AppError('unauthenticated', 'Unauthorized')
  return token
}

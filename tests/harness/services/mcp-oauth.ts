import { createServer } from 'node:http'
import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import type Provider from 'oidc-provider'
import { z } from 'zod'
import { interact, listen, loadQuietly, visit } from '../doubles/oidc-provider.ts'

const READ = 'weather:read'
const WRITE = 'weather:write'
const Registered = z.looseObject({ client_id: z.string() })

/** Changes the metadata as an attacker or a careless operator might. */
export type MetadataFault = (metadata: Record<string, unknown>) => Record<string, unknown>

/** Starts an MCP server behind OAuth: oidc-provider authorizes, the official SDK responds. */
export async function startProtectedMcp(redirectUri: string, options: { tokenSeconds?: number } = {}) {
  const OidcServer = await loadQuietly()
  const authorization = createServer()
  const issuer = await listen(authorization)
  const requests: string[] = []
  const grants: Record<string, string>[] = []
  let serverFault: MetadataFault = (metadata) => metadata
  let issuerFault: MetadataFault = (metadata) => metadata
  let description = 'Tells the weather'
  let failingRevocations = 0
  const calls: unknown[] = []
  const resource = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => answer(request) })
  const url = `http://127.0.0.1:${resource.port}/mcp`

  const provider: Provider = new OidcServer(issuer, {
    cookies: { keys: ['cookie-key-of-the-tests'] },
    scopes: ['openid', 'offline_access', READ, WRITE],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    ttl: { AccessToken: options.tokenSeconds ?? 3600, RefreshToken: 86_400, Grant: 86_400 },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => [],
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, indicator) => {
          if (indicator !== url) throw new Error(`There is no resource ${indicator}`)
          return { scope: `${READ} ${WRITE}`, accessTokenFormat: 'opaque', audience: url }
        },
      },
    },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  })
  provider.use(async (context, next) => {
    await next()
    if (context.path.includes('.well-known')) context.body = issuerFault({ ...context.body })
    if (context.path === '/token') grants.push({ ...context.oidc?.params } as Record<string, string>)
  })
  const serve = provider.callback()
  authorization.on('request', (request, response) => {
    const path = new URL(request.url ?? '/', issuer).pathname
    requests.push(`${request.method} ${path}`)
    if (path.startsWith('/interaction/')) {
      return void interact(provider, { sub: 'ada' }, request, response, { resource: url, scope: `${READ} ${WRITE}` })
    }
    if (path === '/token/revocation' && failingRevocations > 0) {
      failingRevocations -= 1
      return void response.writeHead(503).end()
    }
    return void serve(request, response)
  })

  async function answer(request: Request): Promise<Response> {
    const { pathname, origin } = new URL(request.url)
    const metadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`
    if (pathname.startsWith('/.well-known/oauth-protected-resource')) {
      return Response.json(serverFault({ resource: url, authorization_servers: [issuer], scopes_supported: [READ] }))
    }
    if (pathname !== '/mcp') return new Response('', { status: 404 })
    const bearer = request.headers.get('authorization')?.replace('Bearer ', '')
    const token = bearer ? await provider.AccessToken.find(bearer) : undefined
    if (!token || token.isExpired || token.aud !== url) {
      return new Response('', {
        status: 401,
        headers: { 'www-authenticate': `Bearer resource_metadata="${metadataUrl}"` },
      })
    }
    const mcp = new McpServer({ name: 'weather', version: '1.0.0' })
    const inputSchema = z.object({ city: z.string() })
    const annotations = { readOnlyHint: true }
    mcp.registerTool('forecast', { description, inputSchema, annotations }, async (input) => {
      calls.push(input)
      return { content: [{ type: 'text' as const, text: 'It is sunny' }] }
    })
    if (request.method === 'POST' && (await request.clone().text()).includes('"tools/call"') && wantsMore) {
      const challenge = `Bearer error="insufficient_scope", scope="${READ} ${WRITE}", resource_metadata="${metadataUrl}"`
      return new Response('', { status: 403, headers: { 'www-authenticate': challenge } })
    }
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    await mcp.connect(transport)
    return transport.handleRequest(request)
  }
  let wantsMore = false

  return {
    url,
    issuer,
    calls,
    requests,
    /** Parameters of the token requests. */
    grants,
    serverMetadata(fault: MetadataFault) {
      serverFault = fault
    },
    issuerMetadata(fault: MetadataFault) {
      issuerFault = fault
    },
    failRevocations(count: number) {
      failingRevocations = count
    },
    describeToolAs(text: string) {
      description = text
    },
    /** Makes calls require the second scope. */
    wantMoreScope(isWanted: boolean) {
      wantsMore = isWanted
    },
    visit: (startUrl: string) => visit(startUrl, redirectUri),
    /** Registers a client manually, as an owner would. */
    async registerByHand(): Promise<string> {
      const body = {
        redirect_uris: [redirectUri],
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
      }
      const response = await fetch(`${issuer}/reg`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return Registered.parse(await response.json()).client_id
    },
    /** Revokes every grant, as the user does at the vendor. */
    async revokeAll(token: string): Promise<void> {
      const found = await provider.AccessToken.find(token)
      if (found?.grantId) {
        await provider.AccessToken.revokeByGrantId(found.grantId)
        await provider.RefreshToken.revokeByGrantId(found.grantId)
      }
    },
    isActive: async (token: string) => (await provider.AccessToken.find(token)) !== undefined,
    async [Symbol.asyncDispose]() {
      await resource.stop(true)
      authorization.closeAllConnections()
      await new Promise<void>((resolve) => authorization.close(() => resolve()))
    },
  }
}

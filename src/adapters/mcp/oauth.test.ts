import { expect, test } from 'bun:test'
import { AppError } from '../../core/errors.ts'
import { createEgress, type Network } from '../egress/egress.ts'
import { createMcpOauth } from './oauth.ts'

const SERVER = 'http://mcp.example:8080/mcp'
const ISSUER = 'http://auth.example:8080'
const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: 'https://auth.example/authorize',
  token_endpoint: 'https://auth.example/token',
  registration_endpoint: 'https://auth.example/register',
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
}

/** Two public hosts on one local port; every other name is a private address. */
function open(answers: { server?: object; issuer?: object; challenge?: string }) {
  const asked: string[] = []
  const listener = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const host = request.headers.get('host') ?? ''
      const { pathname } = new URL(request.url)
      asked.push(`${host}${pathname}`)
      if (pathname === '/mcp') {
        const headers = answers.challenge ? { 'www-authenticate': answers.challenge } : {}
        return new Response('', { status: 401, headers })
      }
      if (pathname.includes('oauth-protected-resource') && answers.server) return Response.json(answers.server)
      if (pathname.includes('oauth-authorization-server') && answers.issuer) return Response.json(answers.issuer)
      return new Response('', { status: 404 })
    },
  })
  const network: Network = {
    resolve: async (hostname) => [
      { address: hostname.startsWith('inside') ? '10.0.0.5' : '93.184.215.14', family: 4 as const },
    ],
    route: () => ({ address: { address: '127.0.0.1', family: 4 }, port: listener.port ?? 0 }),
  }
  const oauth = createMcpOauth(createEgress({ allowPrivate: false, network }), { allowPrivate: false })
  return { oauth, asked, [Symbol.asyncDispose]: () => listener.stop(true) }
}

const toCode = (error: unknown) => (error instanceof AppError ? (error.extra.code ?? error.kind) : error)

test('discover returns resource, issuer and scopes when the server sends a challenge', async () => {
  await using it = open({
    challenge: 'Bearer resource_metadata="http://mcp.example:8080/meta/oauth-protected-resource", scope="files:read"',
    server: { resource: SERVER, authorization_servers: [ISSUER], scopes_supported: ['other'] },
    issuer: { ...METADATA, scopes_supported: ['offline_access'] },
  })
  const found = await it.oauth.discover(SERVER)
  expect(found).toMatchObject({ resource: SERVER, scope: 'files:read offline_access', issuer: { issuer: ISSUER } })
  expect(it.asked).toContain('mcp.example:8080/meta/oauth-protected-resource')
})

test.each([
  ['an authorization server inside', { authorization_servers: ['http://inside.example:8080'] }, {}],
  ['an authorization server at a link-local address', { authorization_servers: ['http://169.254.169.254'] }, {}],
  ['a private authorization endpoint', {}, { authorization_endpoint: 'https://192.168.1.1/authorize' }],
  ['an authorization endpoint without https', {}, { authorization_endpoint: 'http://auth.example/authorize' }],
  ['a local token endpoint', {}, { token_endpoint: 'https://localhost/token' }],
  ['a private registration endpoint', {}, { registration_endpoint: 'https://[fd00::1]/register' }],
  ['a private revocation endpoint', {}, { revocation_endpoint: 'https://127.0.0.1/revoke' }],
  ['a script as authorization endpoint', {}, { authorization_endpoint: 'javascript:alert(1)' }],
])('discover throws when the server returns %s', async (_what, server, issuer) => {
  await using it = open({
    server: { resource: SERVER, authorization_servers: [ISSUER], ...server },
    issuer: { ...METADATA, ...issuer },
  })
  const code = await it.oauth.discover(SERVER).then(() => 'accepted', toCode)
  expect(code).toBeOneOf(['UNSAFE_ENDPOINT', 'AUTHORIZATION_FAILED', 'upstream_failed'])
})

test('register, exchange and revoke throw when the name of an endpoint is a private address', async () => {
  await using it = open({})
  const issuer = {
    ...METADATA,
    token_endpoint: 'https://inside.example/token',
    registration_endpoint: 'https://inside.example/register',
    revocation_endpoint: 'https://inside.example/revoke',
  }
  const grant = { issuer, resource: SERVER, client: { client_id: 'a' } }
  const redirectUri = 'https://stead.example/api/mcp/callback'
  const outcomes = await Promise.all([
    it.oauth.register(issuer, { redirectUri, scope: null }).catch(toCode),
    it.oauth.exchange(grant, { code: 'c', codeVerifier: 'v', redirectUri }).catch(toCode),
    it.oauth.renew(grant, 'r').catch(toCode),
    it.oauth.revoke(grant, { token: 't', hint: 'access_token' }).catch(toCode),
  ])
  expect(outcomes).toEqual(['upstream_failed', 'upstream_failed', 'upstream_failed', 'upstream_failed'])
  expect(it.asked).toEqual([])
})

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import type Provider from 'oidc-provider'
import { z } from 'zod'

/** A user of the provider. */
export type Person = { sub: string; email?: string; email_verified?: boolean | string; name?: string }

/** A fault of one endpoint or of the ID token. */
export type OidcFault =
  | { at: '/token' | '/me' | '/jwks' | '/.well-known/openid-configuration'; answer: 'status 500' | 'html' | 'hang' }
  | { idToken: (claims: JWTPayload) => JWTPayload; key?: 'ours' | 'foreign' }
  | { userInfo: Record<string, unknown> }

export type OidcProvider = AsyncDisposable & {
  issuer: string
  clientId: string
  clientSecret: string
  /** Selects the user who signs in next. */
  signInAs(person: Person): void
  failWith(fault: OidcFault | undefined): void
  /** Follows the authorization URL, signs in, consents, and returns the redirect URL. */
  visit(startUrl: string): Promise<URL>
  /** Method and path of each request. */
  requests: string[]
}

const CLIENT_ID = 'stead-tests'
const CLIENT_SECRET = 'secret-of-the-tests-0123456789abcdef'
const KEY_ID = 'test-key'
const Tokens = z.looseObject({ id_token: z.string() })

/** Starts a certified OpenID provider that signs in the selected user and grants every consent. */
export async function startOidcProvider(redirectUri: string): Promise<OidcProvider> {
  const OidcServer = await loadQuietly()
  const { ours, foreign } = await makeKeys()
  const server = createServer()
  const issuer = await listen(server)
  let person: Person = { sub: 'nobody' }
  let fault: OidcFault | undefined
  const requests: string[] = []

  const provider = new OidcServer(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(ours)), kid: KEY_ID, alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['cookie-key-of-the-tests'] },
    scopes: ['openid', 'offline_access', 'email', 'profile'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ ...person, sub: id }) }),
  })
  provider.use(async (context, next) => {
    await next()
    if (fault && 'idToken' in fault && isAnswer(context, '/token')) {
      const tokens = Tokens.parse(context.body)
      const key = fault.key === 'foreign' ? foreign : ours
      context.body = { ...tokens, id_token: await sign(fault.idToken(decode(tokens.id_token)), key) }
    }
    if (fault && 'userInfo' in fault && isAnswer(context, '/me')) context.body = fault.userInfo
  })
  const answer = provider.callback()

  server.on('request', (request, response) => {
    const path = new URL(request.url ?? '/', issuer).pathname
    requests.push(`${request.method} ${path}`)
    if (fault && 'at' in fault && fault.at === path) return failOne(response, fault.answer)
    if (path.startsWith('/interaction/')) return void interact(provider, person, request, response)
    return void answer(request, response)
  })

  return {
    issuer,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    requests,
    signInAs(next) {
      person = next
    },
    failWith(next) {
      fault = next
    },
    visit: (startUrl) => visit(startUrl, redirectUri),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

let loaded: Promise<typeof Provider> | undefined

/** Loads oidc-provider without its warnings about settings that are intended in tests. */
export function loadQuietly(): Promise<typeof Provider> {
  if (loaded) return loaded
  for (const level of ['info', 'warn'] as const) {
    const say = console[level]
    console[level] = (...words: unknown[]) => {
      if (!String(words[0]).includes('oidc-provider ')) say(...words)
    }
  }
  loaded = import('oidc-provider').then((module) => module.default)
  return loaded
}

let keys: Promise<{ ours: CryptoKey; foreign: CryptoKey }> | undefined

/** Cached, because generating a key takes 100 ms. */
function makeKeys() {
  keys ??= Promise.all([generateKeyPair('RS256', { extractable: true }), generateKeyPair('RS256')]).then(
    ([ours, foreign]) => ({ ours: ours.privateKey, foreign: foreign.privateKey }),
  )
  return keys
}

export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
}

/** Signs the user in, then grants the requested scopes, as a user who clicks twice. */
export async function interact(
  provider: Provider,
  person: Person,
  request: IncomingMessage,
  response: ServerResponse,
  granted?: { resource: string; scope: string },
): Promise<void> {
  const { prompt, session, params } = await provider.interactionDetails(request, response)
  if (prompt.name === 'login') {
    await provider.interactionFinished(request, response, { login: { accountId: person.sub } })
    return
  }
  const grant = new provider.Grant({ accountId: session?.accountId ?? person.sub, clientId: String(params.client_id) })
  grant.addOIDCScope(String(params.scope ?? 'openid'))
  if (granted) grant.addResourceScope(granted.resource, granted.scope)
  const consent = { grantId: await grant.save() }
  await provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true })
}

function failOne(response: ServerResponse, answer: 'status 500' | 'html' | 'hang'): void {
  if (answer === 'hang') return
  if (answer === 'html') response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><h1>Welcome</h1>')
  else response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":"server_error"}')
}

/** Follows all redirects of the provider with its cookies, until one leads to `redirectUri`. */
export async function visit(startUrl: string, redirectUri: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = startUrl
  for (let hops = 0; hops < 12; hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} })
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=')
      if (value) cookies.set(name, value)
      else cookies.delete(name)
    }
    const location = response.headers.get('location')
    if (!location) throw new Error(`The provider stopped at ${url}: ${response.status} ${await response.text()}`)
    url = new URL(location, url).href
    if (url.startsWith(redirectUri)) return new URL(url)
  }
  throw new Error('The provider redirects in a loop')
}

function isAnswer(context: { path: string; status: number }, path: string): boolean {
  return context.path === path && context.status === 200
}

function decode(token: string): JWTPayload {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}

function sign(claims: JWTPayload, key: CryptoKey): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: KEY_ID }).sign(key)
}

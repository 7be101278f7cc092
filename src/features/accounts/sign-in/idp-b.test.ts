import { expect, test } from 'bun:test'
import { type OidcFault, startOidcProvider } from '../../../../tests/harness/doubles/oidc-provider.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { openBrowser } from '../../../../tests/harness/web-client.ts'
import { createIdpB } from '../../../adapters/identity/idp-b.ts'
import { sha256 } from '../../../core/secrets.ts'
import { SessionResponse } from '../registration/schemas.ts'
import { identities } from './tables.ts'

const CALLBACK = 'http://localhost:3000/api/auth/idp-b/callback'
const ADA = { sub: 'ada-1815', email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace' }

/** A platform that trusts a real OpenID provider where Ada has an account, and her browser. */
async function withProvider(environment: Record<string, string> = {}) {
  const oidc = await startOidcProvider(CALLBACK)
  oidc.signInAs(ADA)
  const platform = testPlatform({
    environment: {
      IDP_B_CLIENT_ID: oidc.clientId,
      IDP_B_CLIENT_SECRET: oidc.clientSecret,
      IDP_B_ISSUER: oidc.issuer,
      ...environment,
    },
  })
  const browser = openBrowser(platform.web)
  /** Goes there and comes back: where the callback leads. */
  const signIn = async (from = browser, change: (back: URL) => void = () => undefined) => {
    const back = await oidc.visit(await from.follow('/api/auth/idp-b'))
    change(back)
    return from.follow(`${back.pathname}${back.search}`)
  }
  const whoIs = async (from = browser) => (await read(SessionResponse, from.request('/api/auth/session'))).user
  return { ...platform, oidc, browser, signIn, whoIs, [Symbol.asyncDispose]: () => oidc[Symbol.asyncDispose]() }
}

test('GET /api/auth/idp-b: 302 to the discovered provider with state, nonce, PKCE and offline access', async () => {
  await using it = await withProvider()
  const url = new URL(await it.browser.follow('/api/auth/idp-b', { host: 'evil', 'x-forwarded-host': 'evil' }))
  expect(`${url.origin}${url.pathname}`).toBe(`${it.oidc.issuer}/auth`)
  expect(Object.fromEntries(url.searchParams)).toEqual({
    response_type: 'code',
    client_id: it.oidc.clientId,
    redirect_uri: CALLBACK,
    scope: 'openid email profile offline_access',
    access_type: 'offline',
    prompt: 'consent',
    state: expect.stringMatching(/^\w{43}$/),
    nonce: expect.stringMatching(/^\w{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  })
})

test('GET /api/auth/idp-b: 302 to /login when the provider is unreachable, and to the provider when it is back', async () => {
  await using it = await withProvider()
  it.oidc.failWith({ at: '/.well-known/openid-configuration', answer: 'status 500' })
  expect(await it.browser.follow('/api/auth/idp-b')).toBe('/login?error=IdpAuthError')
  it.oidc.failWith(undefined)
  expect(await it.signIn()).toBe('/dashboard')
})

test('GET /api/auth/idp-b/callback: 302 and a new account, whose refresh token is stored encrypted', async () => {
  await using it = await withProvider({ SMTP_URL: 'smtp://127.0.0.1:1' })
  expect(await it.signIn()).toBe('/dashboard')
  expect(await it.whoIs()).toMatchObject({ name: 'Ada Lovelace', email: 'ada@example.com' })

  const [identity] = it.platform.db.select().from(identities).all()
  expect(identity).toMatchObject({ issuer: it.oidc.issuer, subject: 'ada-1815', provider: 'idp-b' })
  const token = it.platform.sealer.unseal(
    identity?.refreshToken ?? '',
    `identities:refreshToken:${it.oidc.issuer}:ada-1815`,
  )
  expect(identity?.refreshTokenHash).toBe(sha256(token))
  expect(dumpTables(it.platform.db)).not.toContain(token)
  expect(it.logLines.join('\n')).not.toContain(token)
})

test('GET /api/auth/idp-b/callback: 302 and the same account the second time', async () => {
  await using it = await withProvider()
  await it.signIn()
  const first = await it.whoIs()
  it.oidc.signInAs({ ...ADA, email: 'countess@example.com' })
  expect(await it.signIn(openBrowser(it.web))).toBe('/dashboard')
  expect(await it.whoIs()).toEqual(first)
  expect(countRows(it.platform.db)).toMatchObject({ users: 1, identities: 1, sessions: 2 })
  // The provider is asked how it works once, not at every sign-in.
  expect(it.oidc.requests.filter((line) => line.includes('openid-configuration'))).toHaveLength(1)
})

test.each([
  ['no e-mail', { sub: ADA.sub, name: 'Ada' }],
  ['an unverified e-mail', { ...ADA, email_verified: false }],
  ['an e-mail of which nothing is said', { sub: ADA.sub, email: ADA.email }],
  ['an e-mail that is verified in words', { ...ADA, email_verified: 'maybe' }],
])('GET /api/auth/idp-b/callback: 302 to IdpNoEmail when the provider returns %s', async (_what, person) => {
  await using it = await withProvider()
  it.oidc.signInAs(person)
  expect(await it.signIn()).toBe('/login?error=IdpNoEmail')
  expect(countRows(it.platform.db)).toMatchObject({ users: 0, identities: 0, sessions: 0 })
})

test('GET /api/auth/idp-b/callback: 302 to IdpNoEmail when the e-mail is unverified and of another account', async () => {
  await using it = await withProvider()
  await it.signIn()
  it.oidc.signInAs({ sub: 'mallory', email: ADA.email, email_verified: false })
  const mallory = openBrowser(it.web)
  expect(await it.signIn(mallory)).toBe('/login?error=IdpNoEmail')
  expect(await it.whoIs(mallory)).toBeNull()
})

const FAULTS: [what: string, fault: OidcFault, failure: string][] = [
  ['a token endpoint that fails', { at: '/token', answer: 'status 500' }, 'IdpTokenFailed'],
  ['a token endpoint that shows a page', { at: '/token', answer: 'html' }, 'IdpTokenFailed'],
  ['user info that fails', { at: '/me', answer: 'status 500' }, 'IdpAuthError'],
  ['user info that is a page', { at: '/me', answer: 'html' }, 'IdpAuthError'],
  ['user info of somebody else', { userInfo: { ...ADA, sub: 'bo' } }, 'IdpAuthError'],
  ['user info without a subject', { userInfo: { email: ADA.email, email_verified: true } }, 'IdpAuthError'],
  ['another nonce', { idToken: (claims) => ({ ...claims, nonce: 'another' }) }, 'IdpAuthError'],
  ['no nonce', { idToken: ({ nonce: _nonce, ...claims }) => claims }, 'IdpTokenFailed'],
  ['another issuer', { idToken: (claims) => ({ ...claims, iss: 'https://evil.example' }) }, 'IdpAuthError'],
  ['another audience', { idToken: (claims) => ({ ...claims, aud: 'somebody-else' }) }, 'IdpAuthError'],
  [
    'an ID token of yesterday',
    { idToken: (claims) => ({ ...claims, exp: Number(claims.iat) - 86_400 }) },
    'IdpAuthError',
  ],
  ['an ID token with a foreign signature', { idToken: (claims) => claims, key: 'foreign' }, 'IdpTokenFailed'],
  ['keys that cannot be fetched', { at: '/jwks', answer: 'status 500' }, 'IdpTokenFailed'],
]
test.each(FAULTS)(
  'GET /api/auth/idp-b/callback: 302 with an error when the provider returns %s',
  async (_what, fault, failure) => {
    await using it = await withProvider()
    it.oidc.failWith(fault)
    expect(await it.signIn()).toBe(`/login?error=${failure}`)
    expect(countRows(it.platform.db)).toMatchObject({ users: 0, identities: 0, sessions: 0 })
  },
)

test.each([
  ['another state', (back: URL) => back.searchParams.set('state', 'x'.repeat(43)), 'IdpAuthError'],
  ['no state', (back: URL) => back.searchParams.delete('state'), 'IdpAuthError'],
  ['another iss', (back: URL) => back.searchParams.set('iss', 'https://evil.example'), 'IdpAuthError'],
  ['no iss from a provider that sends it', (back: URL) => back.searchParams.delete('iss'), 'IdpAuthError'],
  ['another code', (back: URL) => back.searchParams.set('code', 'made-up'), 'IdpTokenFailed'],
  ['two codes', (back: URL) => back.searchParams.append('code', 'made-up'), 'IdpTokenFailed'],
  ['no code', (back: URL) => back.searchParams.delete('code'), 'IdpAuthFailed'],
  ['an error', (back: URL) => back.searchParams.set('error', 'access_denied'), 'IdpAuthFailed'],
])('GET /api/auth/idp-b/callback: 302 with an error when the callback has %s', async (_what, change, failure) => {
  await using it = await withProvider()
  expect(await it.signIn(it.browser, change)).toBe(`/login?error=${failure}`)
  expect(countRows(it.platform.db)).toMatchObject({ users: 0, sessions: 0 })
})

test('GET /api/auth/idp-b/callback: 302 with an error when the code comes from another browser, also with its own state', async () => {
  await using it = await withProvider()
  const [ada, mallory] = [it.browser, openBrowser(it.web)]
  const adaBack = await it.oidc.visit(await ada.follow('/api/auth/idp-b'))
  // Mallory gives Ada's browser her own callback, to be signed in as Mallory there.
  const malloryBack = await it.oidc.visit(await mallory.follow('/api/auth/idp-b'))
  expect(await ada.follow(`${malloryBack.pathname}${malloryBack.search}`)).toBe('/login?error=IdpAuthError')
  // And Ada's code is worth nothing under Mallory's state: the verifier is another one.
  const injected = await it.oidc.visit(await mallory.follow('/api/auth/idp-b'))
  injected.searchParams.set('code', adaBack.searchParams.get('code') ?? '')
  expect(await mallory.follow(`${injected.pathname}${injected.search}`)).toBe('/login?error=IdpTokenFailed')
  expect(countRows(it.platform.db)).toMatchObject({ users: 0, sessions: 0 })
})

test.each([
  ['/token', { code: 'IdpTokenFailed' }],
  ['/me', {}],
  ['/.well-known/openid-configuration', {}],
] as const)(
  'identify of identity provider B rejects after its timeout when the provider does not answer at %s',
  async (at, extra) => {
    await using oidc = await startOidcProvider(CALLBACK)
    oidc.signInAs(ADA)
    const createIdentities = () =>
      createIdpB(
        { clientId: oidc.clientId, clientSecret: oidc.clientSecret, issuer: oidc.issuer, timeoutMs: 2000 },
        { fetch },
      )
    const request = { redirectUri: CALLBACK, state: 's', nonce: 'n', codeVerifier: 'v'.repeat(43) }
    const warm = createIdentities()
    const back = await oidc.visit((await warm?.startUrl(request))?.href ?? '')
    oidc.failWith({ at, answer: 'hang' })
    const idp = at === '/.well-known/openid-configuration' ? createIdentities() : warm
    const identified = idp?.identify({ ...request, code: back.searchParams.get('code') ?? '', search: back.search })
    await expect(identified).rejects.toMatchObject({ kind: 'upstream_failed', extra })
  },
)

test('startUrl of identity provider B has access_type=offline when the provider does not list offline_access', async () => {
  const metadata = {
    issuer: 'https://idp.example',
    authorization_endpoint: 'https://idp.example/auth',
    token_endpoint: 'https://idp.example/token',
    scopes_supported: ['openid', 'email', 'profile'],
  }
  const idp = createIdpB(
    { clientId: 'a', clientSecret: 'b', issuer: 'https://idp.example' },
    { fetch: Object.assign(async () => Response.json(metadata), { preconnect: fetch.preconnect }) },
  )
  const url = await idp?.startUrl({ redirectUri: CALLBACK, state: 's', nonce: 'n', codeVerifier: 'v'.repeat(43) })
  expect(Object.fromEntries(url?.searchParams ?? [])).toMatchObject({
    scope: 'openid email profile',
    access_type: 'offline',
    prompt: 'select_account',
  })
})

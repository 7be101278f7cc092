import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { type GithubFault, type GithubPerson, startGithubDouble } from '../../../../tests/harness/doubles/github.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { openBrowser } from '../../../../tests/harness/web-client.ts'
import { createIdpA } from '../../../adapters/identity/idp-a.ts'
import { write } from '../../../db/write.ts'
import { createKey } from '../keys/keys.ts'
import { insertUser } from '../registration/register.ts'
import { SessionResponse } from '../registration/schemas.ts'
import { users } from '../users/tables.ts'
import { identities } from './tables.ts'

const ADA: GithubPerson = {
  id: 1815,
  login: 'ada',
  name: 'Ada Lovelace',
  emails: [
    { email: 'old@example.com', primary: false, verified: true },
    { email: 'Ada@Example.com', primary: true, verified: true },
  ],
}
const MAIL = { SMTP_URL: 'smtp://127.0.0.1:1' }

/** A platform that trusts a code host where Ada has an account, and her browser. */
async function withProvider(environment: Record<string, string> = {}, address?: string) {
  const github = await startGithubDouble()
  github.signInAs(ADA)
  const platform = testPlatform({ environment: { ...github.environment, ...environment } })
  const browser = openBrowser(address ? platform.api('web', { address }) : platform.web)
  /** Goes there and comes back; the answer to the callback. */
  const signIn = async (from = browser) => {
    const back = await github.visit(await from.follow('/api/auth/idp-a'))
    return from.request(`${back.pathname}${back.search}`)
  }
  const whoIs = async (from = browser) => (await read(SessionResponse, from.request('/api/auth/session'))).user
  /** An account that was here before. */
  const addAccount = (email: string, emailVerifiedAt: Date | null = null) =>
    write(platform.platform.db, (tx) => {
      const { id } = insertUser(
        tx,
        { email, name: email, passwordHash: null },
        { now: platform.clock.now(), plan: null },
      )
      tx.update(users).set({ emailVerifiedAt }).where(eq(users.id, id)).run()
      return id
    })
  return {
    ...platform,
    addAccount,
    github,
    browser,
    signIn,
    whoIs,
    [Symbol.asyncDispose]: () => github[Symbol.asyncDispose](),
  }
}

test('GET /api/auth/idp-a: 302 to the provider with state, PKCE and our callback', async () => {
  await using it = await withProvider({ APP_URL: 'https://stead.example' })
  const response = await it.web.request('/api/auth/idp-a', {
    headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
  })
  expect(response.status).toBe(302)
  const url = new URL(response.headers.get('location') ?? '')
  expect(`${url.origin}${url.pathname}`).toBe(it.github.environment.IDP_A_AUTHORIZE_URL ?? '')
  expect(Object.fromEntries(url.searchParams)).toEqual({
    response_type: 'code',
    client_id: 'stead-tests',
    redirect_uri: 'https://stead.example/api/auth/idp-a/callback',
    scope: 'read:user user:email',
    state: expect.stringMatching(/^\w{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  })
  const [cookie = ''] = response.headers.getSetCookie()
  expect(cookie.split('; ').sort()).toEqual([
    'HttpOnly',
    'Max-Age=600',
    'Path=/',
    'SameSite=Lax',
    'Secure',
    expect.stringMatching(/^__Host-service-sign-in=\w{43}$/),
  ])
  const { state = '' } = Object.fromEntries(url.searchParams)
  expect(dumpTables(it.platform.db)).not.toContain(state)
})

test.each(['idp-a', 'idp-b'])(
  'GET /api/auth/%s: 302 to /login when the provider is not configured',
  async (provider) => {
    const { web } = testPlatform()
    for (const path of [`/api/auth/${provider}`, `/api/auth/${provider}/callback?code=a&state=b`]) {
      const response = await web.request(path)
      expect([response.status, response.headers.get('location')]).toEqual([302, '/login?error=IdpNotConfigured'])
    }
  },
)

test('GET /api/auth/providers: 200 with the configured providers', async () => {
  const none = await testPlatform().web.request('/api/auth/providers')
  expect(await none.json()).toEqual({ idpA: false, idpB: false, wallet: true, siweChainId: 8453, links: 'to-log' })
  const both = testPlatform({
    environment: {
      IDP_A_CLIENT_ID: 'a',
      IDP_A_CLIENT_SECRET: 'a',
      IDP_B_CLIENT_ID: 'b',
      IDP_B_CLIENT_SECRET: 'b',
      SIWE_CHAIN_ID: '1',
      ...MAIL,
    },
  })
  const names = { idpAName: 'GitHub', idpBName: 'Google' }
  const response = await both.web.request('/api/auth/providers')
  expect(await response.json()).toEqual({
    idpA: true,
    idpB: true,
    wallet: true,
    ...names,
    siweChainId: 1,
    links: 'by-mail',
  })
})

test('GET /api/auth/idp-a/callback: 302 and a new account with the verified primary e-mail', async () => {
  await using it = await withProvider(MAIL)
  const response = await it.signIn()
  expect([response.status, response.headers.get('location')]).toEqual([302, '/dashboard'])
  expect(await it.whoIs()).toEqual({
    id: expect.stringMatching(/^usr_/),
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    isAdmin: false,
  })
  expect([...it.browser.cookies.keys()]).toEqual(['service-session', expect.stringMatching(/^service-device-/)])
  expect(it.platform.db.select().from(identities).all()).toMatchObject([
    { issuer: new URL(it.github.environment.IDP_A_AUTHORIZE_URL ?? '').origin, subject: '1815', provider: 'idp-a' },
  ])
  expect(it.platform.db.select().from(users).get()?.emailVerifiedAt).toEqual(it.clock.now())
})

test('GET /api/auth/idp-a/callback: 302 and the same account when its e-mail has changed', async () => {
  await using it = await withProvider()
  await it.signIn()
  const first = await it.whoIs()
  const bo = await it.addAccount('bo@example.com')
  it.github.signInAs({ ...ADA, emails: [{ email: 'bo@example.com', primary: true, verified: true }] })
  await it.signIn()
  expect(await it.whoIs()).toEqual(first)
  expect((await it.whoIs())?.id).not.toBe(bo)
})

test('GET /api/auth/idp-a/callback: 302 and the existing account when it verified the same e-mail', async () => {
  await using it = await withProvider(MAIL)
  const id = await it.addAccount('ada@example.com', it.clock.now())
  await it.signIn()
  expect((await it.whoIs())?.id).toBe(id)
})

test('GET /api/auth/idp-a/callback: 302 to IdpAuthError when another subject has the same e-mail', async () => {
  await using it = await withProvider(MAIL)
  await it.signIn()
  it.github.signInAs({ ...ADA, id: 1816 })
  const stranger = openBrowser(it.web)
  expect((await it.signIn(stranger)).headers.get('location')).toBe('/login?error=IdpAuthError')
  expect(await it.whoIs(stranger)).toBeNull()
})

test('GET /api/auth/idp-a/callback: 302 and the previous holder of the unverified address loses password, session, keys and links', async () => {
  await using it = await withProvider({ ...MAIL, SIGN_UP: 'open' })
  const mallory = { email: 'ada@example.com', password: 'I was here first' }
  await it.web.request('/api/register', json('POST', mallory))
  const squatter = openBrowser(it.web)
  await squatter.request('/api/auth/login', json('POST', mallory))
  const squatted = await it.whoIs(squatter)
  const { key } = await createKey(it.platform, squatted?.id ?? '', { name: 'back door' })

  expect((await it.signIn()).headers.get('location')).toBe('/dashboard')
  expect((await it.whoIs())?.id).toBe(squatted?.id ?? '')
  expect(await it.whoIs(squatter)).toBeNull()
  expect(it.platform.verifyKey(key)).toBeNull()
  expect((await it.web.request('/api/auth/login', json('POST', mallory))).status).toBe(401)
  expect(it.platform.db.select().from(users).get()).toMatchObject({ passwordHash: null, twoFactorSecret: null })
})

test('GET /api/auth/idp-a/callback: 302 and the account keeps password and unverified e-mail when no mail server is set', async () => {
  await using it = await withProvider()
  const ada = { email: 'ada@example.com', password: 'correct horse battery' }
  await it.web.request('/api/register', json('POST', ada))
  expect((await it.signIn()).headers.get('location')).toBe('/dashboard')
  expect((await it.web.request('/api/auth/login', json('POST', ada))).status).toBe(200)
  expect(it.platform.db.select().from(users).all()).toMatchObject([{ emailVerifiedAt: null }])
})

test.each(['invite', 'closed'])(
  'GET /api/auth/idp-a/callback: 302 to IdpAuthError and no account when sign-up is %s',
  async (mode) => {
    await using it = await withProvider({ SIGN_UP: mode })
    expect((await it.signIn()).headers.get('location')).toBe('/login?error=IdpAuthError')
    expect(countRows(it.platform.db)).toMatchObject({ users: 0, identities: 0, sessions: 0 })
  },
)

test.each(['disabledAt', 'externalSignInDisabledAt'] as const)(
  'GET /api/auth/idp-a/callback: 302 to IdpAuthError when the account has %s',
  async (column) => {
    await using it = await withProvider()
    await it.signIn()
    await write(it.platform.db, (tx) =>
      tx
        .update(users)
        .set({ [column]: it.clock.now() })
        .run(),
    )
    const again = openBrowser(it.web)
    expect((await it.signIn(again)).headers.get('location')).toBe('/login?error=IdpAuthError')
    expect(again.cookies.has('service-session')).toBe(false)
  },
)

const KELVIN = '\u212Aelvin@example.com'
test.each([
  ['no address', []],
  ['none that is verified', [{ email: 'ada@example.com', primary: true, verified: false }]],
  ['none that is primary', [{ email: 'ada@example.com', primary: false, verified: true }]],
  ['none that is one', [{ email: 'ada', primary: true, verified: true }]],
  ['one that only looks like another', [{ email: KELVIN, primary: true, verified: true }]],
])('GET /api/auth/idp-a/callback: 302 to IdpNoEmail when the provider returns %s', async (_what, emails) => {
  await using it = await withProvider()
  it.github.signInAs({ ...ADA, emails })
  expect((await it.signIn()).headers.get('location')).toBe('/login?error=IdpNoEmail')
  expect(countRows(it.platform.db)).toMatchObject({ users: 0, sessions: 0 })
})

const FAULTS: [fault: GithubFault, failure: string][] = [
  [{ at: '/login/oauth/access_token', answer: { status: 500 } }, 'IdpTokenFailed'],
  [{ at: '/login/oauth/access_token', answer: { status: 302 } }, 'IdpTokenFailed'],
  [{ at: '/login/oauth/access_token', answer: 'html' }, 'IdpTokenFailed'],
  [{ at: '/login/oauth/access_token', answer: 'no token' }, 'IdpTokenFailed'],
  [{ at: '/user', answer: { status: 500 } }, 'IdpAuthError'],
  [{ at: '/user', answer: { status: 401 } }, 'IdpAuthError'],
  [{ at: '/user', answer: 'html' }, 'IdpAuthError'],
  [{ at: '/user/emails', answer: { status: 500 } }, 'IdpAuthError'],
  [{ at: '/user/emails', answer: 'html' }, 'IdpAuthError'],
  [{ at: '/user/emails', answer: { status: 404 } }, 'IdpNoEmail'],
]
test.each(FAULTS)('GET /api/auth/idp-a/callback: when the provider returns %j, 302 to %s', async (fault, failure) => {
  await using it = await withProvider()
  it.github.failWith(fault)
  expect((await it.signIn()).headers.get('location')).toBe(`/login?error=${failure}`)
  expect(countRows(it.platform.db)).toMatchObject({ users: 0, identities: 0, sessions: 0, sign_in_attempts: 0 })
})

test.each([
  ['/login/oauth/access_token', 'IdpTokenFailed'],
  ['/user', undefined],
] as const)(
  'identify of identity provider A rejects after its timeout when the provider does not answer at %s',
  async (at, code) => {
    await using github = await startGithubDouble()
    github.signInAs(ADA)
    const { environment: env } = github
    const idp = createIdpA(
      {
        clientId: env.IDP_A_CLIENT_ID,
        clientSecret: env.IDP_A_CLIENT_SECRET,
        authorizeUrl: env.IDP_A_AUTHORIZE_URL ?? '',
        tokenUrl: env.IDP_A_TOKEN_URL ?? '',
        apiUrl: env.IDP_A_API_URL ?? '',
        timeoutMs: 2000,
      },
      { fetch },
    )
    const request = { redirectUri: 'http://localhost/back', state: 's', nonce: 'n', codeVerifier: 'v'.repeat(43) }
    const back = await github.visit((await idp?.startUrl(request))?.href ?? '')
    github.failWith({ at, answer: 'hang' })
    const identified = idp?.identify({ ...request, code: back.searchParams.get('code') ?? '', search: back.search })
    await expect(identified).rejects.toMatchObject({ kind: 'upstream_failed', extra: code ? { code } : {} })
  },
)

test('GET /api/auth/idp-a/callback: 302 with an error when state or code do not match, and no session', async () => {
  await using it = await withProvider()
  const back = await it.github.visit(await it.browser.follow('/api/auth/idp-a'))
  const at = (change: Record<string, string | null>) => {
    const url = new URL(back)
    for (const [name, value] of Object.entries(change)) {
      if (value === null) url.searchParams.delete(name)
      else url.searchParams.set(name, value)
    }
    return `${url.pathname}${url.search}`
  }
  const stranger = openBrowser(it.web)
  expect(await stranger.follow(at({ state: 'x'.repeat(43) }))).toBe('/login?error=IdpAuthError')
  expect(await stranger.follow(at({ state: null }))).toBe('/login?error=IdpAuthError')
  expect(await stranger.follow(at({ code: null, state: null }))).toBe('/login?error=IdpAuthFailed')
  expect(await stranger.follow(at({ code: null, state: null, error: 'access_denied' }))).toBe(
    '/login?error=IdpAuthFailed',
  )
  // Another browser's state signs no one in and is used up.
  expect(await stranger.follow(at({}))).toBe('/login?error=IdpAuthError')
  expect(await it.browser.follow(at({}))).toBe('/login?error=IdpAuthError')
  expect(it.github.requests.filter((line) => line.startsWith('POST'))).toEqual([])
  expect(countRows(it.platform.db)).toMatchObject({ users: 0, sessions: 0, sign_in_attempts: 0 })
})

test('GET /api/auth/idp-a/callback: 302 to IdpAuthError when the attempt is ten minutes old, used, or of another provider', async () => {
  await using it = await withProvider({
    IDP_B_CLIENT_ID: 'b',
    IDP_B_CLIENT_SECRET: 'b',
    IDP_B_ISSUER: 'http://127.0.0.1:1',
  })
  const late = await it.github.visit(await it.browser.follow('/api/auth/idp-a'))
  it.clock.advance(600_000)
  expect(await it.browser.follow(`${late.pathname}${late.search}`)).toBe('/login?error=IdpAuthError')

  const mixed = await it.github.visit(await it.browser.follow('/api/auth/idp-a'))
  expect(await it.browser.follow(`/api/auth/idp-b/callback${mixed.search}`)).toBe('/login?error=IdpAuthError')
  expect(it.logLines.at(-1)).toContain('No sign-in of this browser waits')

  const swapped = await it.github.visit(await it.browser.follow('/api/auth/idp-a'))
  const other = await it.github.visit(await it.browser.follow('/api/auth/idp-a'))
  other.searchParams.set('code', swapped.searchParams.get('code') ?? '')
  expect(await it.browser.follow(`${other.pathname}${other.search}`)).toBe('/login?error=IdpTokenFailed')

  const good = await it.github.visit(await it.browser.follow('/api/auth/idp-a'))
  const cookies = new Map(it.browser.cookies)
  expect(await it.browser.follow(`${good.pathname}${good.search}`)).toBe('/dashboard')
  for (const [name, value] of cookies) it.browser.cookies.set(name, value)
  expect(await it.browser.follow(`${good.pathname}${good.search}`)).toBe('/login?error=IdpAuthError')
})

test('GET /api/auth/idp-a/callback: 302 and one account, link and session when 50 requests send one code', async () => {
  await using it = await withProvider()
  const back = await it.github.visit(await it.browser.follow('/api/auth/idp-a'))
  const headers = { cookie: `service-sign-in=${it.browser.cookies.get('service-sign-in')}` }
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => it.web.request(`${back.pathname}${back.search}`, { headers })),
  )
  const locations = answers.map((answer) => answer.headers.get('location'))
  expect(locations.filter((location) => location === '/dashboard')).toHaveLength(1)
  expect(countRows(it.platform.db)).toMatchObject({ users: 1, identities: 1, sessions: 1 })
})

test('GET /api/auth/idp-a/callback: 302 and one account and link when one person signs in with 20 browsers', async () => {
  await using it = await withProvider()
  const answers = await Promise.all(Array.from({ length: 20 }, () => it.signIn(openBrowser(it.web))))
  expect(new Set(answers.map((answer) => answer.headers.get('location')))).toEqual(new Set(['/dashboard']))
  expect(countRows(it.platform.db)).toMatchObject({ users: 1, identities: 1, sessions: 20 })
})

test('GET /api/auth/idp-a: 403 SETUP_REQUIRED at home from another machine while there is no account', async () => {
  await using it = await withProvider({ DEPLOYMENT_MODE: 'home' })
  for (const path of ['/api/auth/idp-a', '/api/auth/idp-a/callback?code=x&state=y']) {
    const response = await it.web.request(path)
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ code: 'SETUP_REQUIRED' })
  }
  await it.addAccount('owner@example.com')
  expect((await it.web.request('/api/auth/idp-a')).status).toBe(302)
})

test('GET /api/auth/idp-a/callback: 302 and administrator rights for the first account at home', async () => {
  await using it = await withProvider({ DEPLOYMENT_MODE: 'home' }, '127.0.0.1')
  await it.signIn()
  expect(await it.whoIs()).toMatchObject({ isAdmin: true })
  expect(it.platform.db.select().from(users).where(eq(users.email, 'ada@example.com')).get()?.plan).toBe('network')
})

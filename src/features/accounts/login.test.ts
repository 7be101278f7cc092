import { expect, test } from 'bun:test'
import { z } from 'zod'
import { countRows, dumpTables } from '../../../tests/harness/dump.ts'
import { bearer, json, read, testPlatform } from '../../../tests/harness/platform.ts'
import { CreatedKey } from '../keys/schemas.ts'
import { SessionResponse } from './schemas.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }
const MONTH_MS = 30 * 86_400_000

/** A platform where Ada has an account, and what a browser does there. */
async function withAda(environment: Record<string, string> = {}) {
  const platform = testPlatform({ environment })
  await platform.web.request('/api/register', json('POST', { ...ADA, name: 'Ada' }))
  return {
    ...platform,
    login: (body: unknown, headers = {}) => platform.web.request('/api/auth/login', json('POST', body, headers)),
    whoIs: async (cookie: string) =>
      (await read(SessionResponse, platform.web.request('/api/auth/session', { headers: { cookie } }))).user,
  }
}

function cookieOf(response: Response): string {
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

test('POST /api/auth/login: 200 with a cookie of 30 days that scripts cannot read', async () => {
  const { login } = await withAda()
  const response = await login(ADA)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ ok: true, user: { id: expect.stringMatching(/^usr_/), name: 'Ada' } })
  const [cookie = '', ...more] = response.headers.getSetCookie()
  expect(more).toEqual([])
  expect(cookie.split('; ').sort()).toEqual([
    'HttpOnly',
    'Max-Age=2592000',
    'Path=/',
    'SameSite=Lax',
    expect.stringMatching(/^service-session=[0-9A-Za-z]{43}$/),
  ])
})

test('POST /api/auth/login: the cookie is Secure when the app is reached over https', async () => {
  const { login } = await withAda({ APP_URL: 'https://stead.example' })
  expect((await login(ADA)).headers.getSetCookie()[0]).toContain('; Secure')
})

test('POST /api/auth/login: the e-mail may be written in other letters', async () => {
  const { login } = await withAda()
  expect((await login({ ...ADA, email: ' ADA@Example.com' })).status).toBe(200)
})

test.each([
  [{}, 'Missing email or password'],
  [{ email: 'ada@example.com' }, 'Missing email or password'],
  [{ email: 'ada@example.com', password: '' }, 'Missing email or password'],
  [{ password: 'correct horse' }, 'Missing email or password'],
  [{ email: '  ', password: 'correct horse' }, 'Missing email or password'],
  [{ email: ['ada@example.com'], password: 'correct horse' }, 'Missing email or password'],
  [{ email: 'a'.repeat(255), password: 'correct horse' }, 'Invalid email format'],
  [{ email: 'ada@example.com', password: 'x'.repeat(1025) }, 'Password must be at most 1024 characters'],
])('POST /api/auth/login: 400 for %j, and no session begins', async (body, error) => {
  const { login, platform } = await withAda()
  const response = await login(body)
  expect(await response.json()).toEqual({ error })
  expect(response.status).toBe(400)
  expect(countRows(platform.db).sessions).toBe(0)
})

test('POST /api/auth/login: 401 in the same words for a wrong password, an unknown address and an account without one', async () => {
  const { login, signIn, platform } = await withAda()
  await signIn('wallet@example.com')
  const before = countRows(platform.db)
  for (const email of ['ada@example.com', 'nobody@example.com', 'wallet@example.com']) {
    const response = await login({ email, password: 'wrong horse' })
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({ error: 'Invalid email or password' })
    expect(response.headers.getSetCookie()).toEqual([])
  }
  expect(countRows(platform.db)).toEqual(before)
})

test('POST /api/auth/login: a session that was planted in the browser ends and is replaced', async () => {
  const { login, signIn, whoIs } = await withAda()
  const eve = await signIn('eve@example.com')
  const response = await login(ADA, eve.cookie)
  expect(cookieOf(response)).not.toBe(eve.cookie.cookie)
  expect(await whoIs(cookieOf(response))).toMatchObject({ email: 'ada@example.com' })
  expect(await whoIs(eve.cookie.cookie)).toBeNull()
})

test('POST /api/auth/login: a value that was planted in the browser never becomes the session', async () => {
  const { login, whoIs } = await withAda()
  const planted = `service-session=${'x'.repeat(43)}`
  expect(cookieOf(await login(ADA, { cookie: planted }))).not.toBe(planted)
  expect(await whoIs(planted)).toBeNull()
})

test('POST /api/auth/login: 429 beyond the rate of one address', async () => {
  const { login } = await withAda({ RATE_LIMIT_LOGIN: '1' })
  await login({})
  const response = await login(ADA)
  expect(response.status).toBe(429)
  expect(await response.json()).toEqual({ error: 'Too many login attempts' })
})

test('GET /api/auth/session: 200 tells who is signed in, and who is an admin', async () => {
  const { login, whoIs } = await withAda({ ADMIN_EMAILS: 'Ada@Example.com' })
  expect(await whoIs(cookieOf(await login(ADA)))).toEqual({
    id: expect.stringMatching(/^usr_/),
    name: 'Ada',
    email: 'ada@example.com',
    isAdmin: true,
  })
})

test.each(['', 'service-session=', 'service-session=unknown', `service-session=${'0'.repeat(5000)}`])(
  'GET /api/auth/session: 200 with null for the cookie %p',
  async (cookie) => {
    const { web } = testPlatform()
    const response = await web.request('/api/auth/session', { headers: { cookie } })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ user: null })
  },
)

test('GET /api/auth/session: a session lasts 30 days to the second, used or not', async () => {
  const { login, whoIs, clock } = await withAda()
  const cookie = cookieOf(await login(ADA))
  clock.advance(MONTH_MS / 2)
  expect(await whoIs(cookie)).not.toBeNull()
  clock.advance(MONTH_MS / 2 - 1000)
  expect(await whoIs(cookie)).not.toBeNull()
  clock.advance(1000)
  expect(await whoIs(cookie)).toBeNull()
})

test('the job that forgets sessions takes the ended ones and no others', async () => {
  const { login, whoIs, clock, platform } = await withAda()
  await login(ADA)
  clock.advance(MONTH_MS)
  const cookie = cookieOf(await login(ADA))
  await platform.sessions.deleteExpired()
  expect(countRows(platform.db).sessions).toBe(1)
  expect(await whoIs(cookie)).not.toBeNull()
})

test('POST /api/auth/signout: 200, the cookie is cleared and its session is gone, other browsers stay', async () => {
  const { login, whoIs, web } = await withAda()
  const here = cookieOf(await login(ADA))
  const there = cookieOf(await login(ADA))
  const response = await web.request('/api/auth/signout', { method: 'POST', headers: { cookie: here } })
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ ok: true })
  expect(response.headers.getSetCookie()[0]).toMatch(/^service-session=; Max-Age=0; Path=\//)
  expect(await whoIs(here)).toBeNull()
  expect(await whoIs(there)).not.toBeNull()
})

test('POST /api/auth/signout: 200 for nobody', async () => {
  const { web } = testPlatform()
  const response = await web.request('/api/auth/signout', { method: 'POST' })
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ ok: true })
})

test('the database holds no session token, no key and no password', async () => {
  const { login, web, platform } = await withAda()
  const cookie = cookieOf(await login(ADA))
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, { cookie })))
  const dump = dumpTables(platform.db)
  expect(dump).toContain('ada@example.com')
  expect(dump).toContain('$argon2id$')
  for (const secret of [ADA.password, cookie.replace('service-session=', ''), key]) expect(dump).not.toContain(secret)
})

test('GET /api/auth/csrf: 401 for nobody', async () => {
  const { web } = testPlatform()
  expect((await web.request('/api/auth/csrf')).status).toBe(401)
})

const FOREIGN = { origin: 'https://evil.example' }
test.each<[string, number, Record<string, string>]>([
  ['no browser header', 201, {}],
  ['our own page', 201, { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:3000' }],
  ['a page typed in', 201, { 'sec-fetch-site': 'none' }],
  ['another site', 403, { 'sec-fetch-site': 'cross-site' }],
  ['a sibling of our domain', 403, { 'sec-fetch-site': 'same-site' }],
  ['a foreign origin', 403, FOREIGN],
  ['the null origin', 403, { origin: 'null' }],
  ['another port of our host', 403, { origin: 'http://localhost:4000' }],
  ['a wrong token', 403, { ...FOREIGN, 'x-csrf-token': 'a.ffffffffffff:b' }],
])('POST /api/keys with a session from %s gets %d', async (_who, status, headers) => {
  const { web, signIn, platform } = testPlatform()
  const { cookie } = await signIn()
  const response = await web.request('/api/keys', json('POST', { name: 'laptop' }, { ...cookie, ...headers }))
  expect(response.status).toBe(status)
  if (status === 403) expect(await response.json()).toEqual({ error: 'Missing CSRF token' })
  expect(countRows(platform.db).api_keys).toBe(status === 201 ? 1 : 0)
})

test('a token of GET /api/auth/csrf lets a foreign origin act for 24 hours, in its own session only', async () => {
  const { web, signIn, clock } = testPlatform()
  const ada = await signIn('ada@example.com')
  const eve = await signIn('eve@example.com')
  const issued = web.request('/api/auth/csrf', { headers: ada.cookie })
  const { header } = await read(z.object({ header: z.string() }), issued)
  const create = async (cookie: Record<string, string>) => {
    const headers = { ...cookie, ...FOREIGN, 'x-csrf-token': header }
    return (await web.request('/api/keys', json('POST', { name: 'laptop' }, headers))).status
  }
  expect(await create(ada.cookie)).toBe(201)
  expect(await create(eve.cookie)).toBe(403)
  clock.advance(24 * 3_600_000)
  expect(await create(ada.cookie)).toBe(403)
})

test('an sk_ key from a foreign origin needs no token: no browser sends it by itself', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn('ada@example.com', 'network')
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  const response = await web.request('/api/agents/provision', json('POST', {}, { ...bearer(key), ...FOREIGN }))
  expect(response.status).toBe(400)
})

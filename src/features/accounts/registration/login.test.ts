import { expect, test } from 'bun:test'
import { eq, like } from 'drizzle-orm'
import { z } from 'zod'
import { LOW_PASSWORD_COST, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { write } from '../../../db/write.ts'
import { CreatedKey } from '../keys/schemas.ts'
import { sessions, throttles, type UserRow, users } from '../users/tables.ts'
import { insertUser } from './register.ts'
import { SessionResponse } from './schemas.ts'

type Platform = ReturnType<typeof testPlatform>['platform']

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

async function platformUser(platform: Platform, account: { email: string; password: string }): Promise<void> {
  const passwordHash = await platform.passwords.hash(account.password)
  const row = { email: account.email, name: account.email, passwordHash }
  await write(platform.db, (tx) => insertUser(tx, row, { now: platform.clock.now(), plan: null }))
}

async function change(platform: Platform, email: string, row: Partial<UserRow>): Promise<void> {
  await write(platform.db, (tx) => tx.update(users).set(row).where(eq(users.email, email)).run())
}

function cookieOf(response: Response): string {
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

test('POST /api/auth/login: 200 with a cookie of 30 days that scripts cannot read', async () => {
  const { login } = await withAda()
  const response = await login(ADA)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ ok: true, user: { id: expect.stringMatching(/^usr_/), name: 'Ada' } })
  const [cookie = '', device = '', ...more] = response.headers.getSetCookie()
  expect(device).toMatch(/^service-device-[0-9a-f]{8}=/)
  expect(more).toEqual([])
  expect(cookie.split('; ').sort()).toEqual([
    'HttpOnly',
    'Max-Age=2592000',
    'Path=/',
    'SameSite=Lax',
    expect.stringMatching(/^service-session=[0-9A-Za-z]{43}$/),
  ])
})

test('POST /api/auth/login: 200 with a Secure cookie when the app is served over https', async () => {
  const { login } = await withAda({ APP_URL: 'https://stead.example' })
  expect((await login(ADA)).headers.getSetCookie()[0]).toContain('; Secure')
})

test('POST /api/auth/login: 200 when the e-mail differs in case and surrounding space', async () => {
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
])('POST /api/auth/login: 400 when the body is %j, and no session is created', async (body, error) => {
  const { login, platform } = await withAda()
  const response = await login(body)
  expect(await response.json()).toEqual({ error })
  expect(response.status).toBe(400)
  expect(countRows(platform.db).sessions).toBe(0)
})

test('POST /api/auth/login: 401 with one message for a wrong password, an unknown address and an account without a password', async () => {
  const { login, signIn, platform } = await withAda()
  await signIn('wallet@example.com')
  const before = countRows(platform.db)
  for (const email of ['ada@example.com', 'nobody@example.com', 'wallet@example.com']) {
    const response = await login({ email, password: 'wrong horse' })
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({ error: 'Invalid email or password' })
    expect(response.headers.getSetCookie()).toEqual([])
  }
  expect({ ...countRows(platform.db), throttles: 0 }).toEqual({ ...before, throttles: 0 })
})

test('POST /api/auth/login: 401 with the same bytes after one hash, whatever the reason', async () => {
  const { login, signIn, platform } = await withAda()
  await signIn('wallet@example.com')
  for (const email of ['closed@example.com', 'broken@example.com'])
    await platformUser(platform, { email, password: ADA.password })
  await change(platform, 'closed@example.com', { disabledAt: new Date() })
  await change(platform, 'broken@example.com', { passwordHash: 'no hash at all' })
  const attempts = [
    ['ada@example.com', 'wrong horse'],
    ['nobody@example.com', ADA.password],
    ['wallet@example.com', ADA.password],
    ['closed@example.com', ADA.password],
    ['broken@example.com', ADA.password],
  ]
  for (const [email, password] of attempts) {
    const before = platform.passwords.calls
    const response = await login({ email, password })
    expect([response.status, await response.text()]).toEqual([401, '{"error":"Invalid email or password"}'])
    expect([email, platform.passwords.calls - before]).toEqual([email, 1])
  }
})

test('POST /api/auth/login: 429 with Retry-After for 15 minutes after ten failures, also with the right password', async () => {
  const { login, clock, platform } = await withAda()
  for (let failure = 0; failure < 10; failure++) {
    expect((await login({ ...ADA, password: 'wrong horse' })).status).toBe(401)
  }
  clock.advance(60_000)
  const hashed = platform.passwords.calls
  const refused = await login(ADA)
  expect(refused.status).toBe(429)
  expect(await refused.json()).toMatchObject({ error: 'Too many attempts. Try again later.' })
  expect(refused.headers.get('retry-after')).toBe('840')
  expect(platform.passwords.calls).toBe(hashed)
  clock.advance(14 * 60_000)
  expect((await login(ADA)).status).toBe(200)
})

test('POST /api/auth/login: 429 after ten failures when the account does not exist', async () => {
  const { login } = await withAda()
  const unknown = { email: 'nobody@example.com', password: 'wrong horse' }
  for (let failure = 0; failure < 10; failure++) expect((await login(unknown)).status).toBe(401)
  expect((await login(unknown)).status).toBe(429)
  expect((await login(ADA)).status).toBe(200)
})

test('POST /api/auth/login: 429 for all but ten of 200 concurrent guesses', async () => {
  const { login, platform } = await withAda()
  const before = platform.passwords.calls
  const guesses = Array.from({ length: 200 }, async (_, n) => (await login({ ...ADA, password: `guess ${n}` })).status)
  const statuses = await Promise.all(guesses)
  expect(statuses.filter((status) => status === 401)).toHaveLength(10)
  expect(statuses.filter((status) => status === 429)).toHaveLength(190)
  expect(platform.passwords.calls - before).toBe(10)
})

test('POST /api/auth/login: 429 after fifty failures from one address over many accounts, and 200 from another', async () => {
  const { api, login, platform } = await withAda()
  const from = async (address: string, email: string, password = 'wrong horse') =>
    (await api('web', { address }).request('/api/auth/login', json('POST', { email, password }))).status
  expect(await from('2001:db8:1:2::1', 'user1@example.com')).toBe(401)
  const key = 'login:address:2001:db8:1:2::'
  await write(platform.db, (tx) => tx.update(throttles).set({ count: 49 }).where(eq(throttles.key, key)).run())
  expect(await from('2001:db8:1:2::1', 'user2@example.com')).toBe(401)
  expect(await from('2001:db8:1:2:ffff::2', ADA.email, ADA.password)).toBe(429)
  expect((await login(ADA)).status).toBe(200)
})

test('POST /api/auth/login: 200 and only the failures of this account are cleared', async () => {
  const { login, platform } = await withAda()
  const fail = async (times: number) => {
    for (let failure = 0; failure < times; failure++) await login({ ...ADA, password: 'wrong horse' })
  }
  await fail(9)
  expect((await login(ADA)).status).toBe(200)
  await fail(9)
  expect((await login(ADA)).status).toBe(200)
  // Of the account there may be others’ among them; those from this address are forgotten.
  expect(platform.db.select().from(throttles).where(like(throttles.key, 'login:%')).all()).toMatchObject([
    { key: expect.stringMatching(/^login:account:[0-9a-f]{64}$/), count: 18 },
    { key: 'login:address:203.0.113.7', count: 18 },
  ])
})

test('POST /api/auth/login: 200 and the password is hashed again when the parameters have changed', async () => {
  const { login, platform } = await withAda()
  const hash = () => platform.db.select().from(users).get()?.passwordHash ?? ''
  const old = await Bun.password.hash(ADA.password, { algorithm: 'bcrypt', cost: 4 })
  await change(platform, ADA.email, { passwordHash: old })
  await login({ ...ADA, password: 'wrong horse' })
  expect(hash()).toBe(old)
  expect((await login(ADA)).status).toBe(200)
  const renewed = hash()
  expect(renewed).toStartWith(`$argon2id$v=19$m=${LOW_PASSWORD_COST.memoryCost},t=${LOW_PASSWORD_COST.timeCost},p=1$`)
  expect((await login(ADA)).status).toBe(200)
  expect(hash()).toBe(renewed)
})

test.each([
  ['has another password', async () => ({ passwordHash: await Bun.password.hash('a new one', 'argon2id') })],
  ['is closed', async () => ({ disabledAt: new Date() })],
  ['has got a second factor', async () => ({ twoFactorEnabledAt: new Date() })],
] as const)('POST /api/auth/login: 401 when the account %s before its session would begin', async (_what, make) => {
  const { login, platform } = await withAda()
  const row = await make()
  const { create } = platform.sessions
  // Between the check of the password and the session, where an administrator's request may come.
  platform.sessions.create = async (...session) => {
    await change(platform, ADA.email, row)
    return create(...session)
  }
  const response = await login(ADA)
  expect(response.status).toBe(401)
  expect(response.headers.getSetCookie()).toEqual([])
  expect(platform.db.select().from(sessions).all()).toEqual([])
})

test.each(['😀 four words, no less 😀', 'a\0b\0c\0 and on', '  space at both ends  ', 'x'.repeat(1024)])(
  'POST /api/auth/login: 200 only with the exact password %j',
  async (password) => {
    const { web } = testPlatform()
    await web.request('/api/register', json('POST', { email: ADA.email, password }))
    const status = async (tried: string) =>
      (await web.request('/api/auth/login', json('POST', { email: ADA.email, password: tried }))).status
    expect(await status(password)).toBe(200)
    expect(await status(password.slice(0, -1))).toBe(401)
    expect(await status(`${password.slice(0, -1)}?`)).toBe(401)
  },
)

test('POST /api/auth/login: 200 when the address is written in full-width letters', async () => {
  const { login } = await withAda()
  expect((await login({ ...ADA, email: 'ＡＤＡ＠example.com' })).status).toBe(200)
})

test('POST /api/auth/login: 200 with a new session, and a session planted in the browser ends', async () => {
  const { login, signIn, whoIs } = await withAda()
  const eve = await signIn('eve@example.com')
  const response = await login(ADA, eve.cookie)
  expect(cookieOf(response)).not.toBe(eve.cookie.cookie)
  expect(await whoIs(cookieOf(response))).toMatchObject({ email: 'ada@example.com' })
  expect(await whoIs(eve.cookie.cookie)).toBeNull()
})

test('POST /api/auth/login: 200 with another cookie than the one planted in the browser', async () => {
  const { login, whoIs } = await withAda()
  const planted = `service-session=${'x'.repeat(43)}`
  expect(cookieOf(await login(ADA, { cookie: planted }))).not.toBe(planted)
  expect(await whoIs(planted)).toBeNull()
})

test('POST /api/auth/login: 429 when one address exceeds its rate', async () => {
  const { login } = await withAda({ RATE_LIMIT_LOGIN: '1' })
  await login({})
  const response = await login(ADA)
  expect(response.status).toBe(429)
  expect(await response.json()).toEqual({ error: 'Too many login attempts' })
})

test('GET /api/auth/session: 200 with the signed-in user and whether they are an admin', async () => {
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

test('GET /api/auth/session: 200 with the user for 30 days to the second, used or not, then with null', async () => {
  const { login, whoIs, clock } = await withAda()
  const cookie = cookieOf(await login(ADA))
  clock.advance(MONTH_MS / 2)
  expect(await whoIs(cookie)).not.toBeNull()
  clock.advance(MONTH_MS / 2 - 1000)
  expect(await whoIs(cookie)).not.toBeNull()
  clock.advance(1000)
  expect(await whoIs(cookie)).toBeNull()
})

test('the cleanup job deletes only sessions that have ended', async () => {
  const { login, whoIs, clock, platform } = await withAda()
  await login(ADA)
  clock.advance(MONTH_MS)
  const cookie = cookieOf(await login(ADA))
  await platform.sessions.deleteExpired()
  expect(countRows(platform.db).sessions).toBe(1)
  expect(await whoIs(cookie)).not.toBeNull()
})

test('POST /api/auth/signout: 200 and the cookie and its session end; other browsers stay signed in', async () => {
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

test('POST /api/auth/signout: 200 without a session', async () => {
  const { web } = testPlatform()
  const response = await web.request('/api/auth/signout', { method: 'POST' })
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ ok: true })
})

test('the database contains no session token, key or password', async () => {
  const { login, web, platform } = await withAda()
  const cookie = cookieOf(await login(ADA))
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, { cookie })))
  const dump = dumpTables(platform.db)
  expect(dump).toContain('ada@example.com')
  expect(dump).toContain('$argon2id$')
  for (const secret of [ADA.password, cookie.replace('service-session=', ''), key]) expect(dump).not.toContain(secret)
})

test.each(['/api/auth/login', '/api/auth/two-factor', '/api/register', '/api/wallet-auth'])(
  'POST %s: 403 when the request comes from another site, with a session or not, and nothing is written',
  async (path) => {
    const { web, platform } = await withAda()
    const before = countRows(platform.db)
    const ask = (headers: Record<string, string>) => web.request(path, json('POST', ADA, headers))
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, { origin: 'null' }]) {
      const response = await ask(headers)
      expect(response.status).toBe(403)
      expect(await response.json()).toEqual({ error: 'Missing CSRF token' })
      expect(response.headers.getSetCookie()).toEqual([])
    }
    expect(countRows(platform.db)).toEqual(before)
    expect((await ask({ 'sec-fetch-site': 'same-origin', origin: 'http://localhost:3000' })).status).not.toBe(403)
  },
)

test('GET /api/auth/csrf: 200 without a session, with a token that permits nothing', async () => {
  const { web, signIn } = testPlatform()
  const response = await web.request('/api/auth/csrf')
  expect(response.status).toBe(200)
  const { header } = z
    .object({ token: z.string(), signed: z.string(), header: z.string() })
    .parse(await response.json())
  const headers = { ...FOREIGN, 'x-csrf-token': header }
  const { cookie } = await signIn()
  const body = { email: 'ada@example.com', password: 'any password' }
  expect((await web.request('/api/auth/login', json('POST', body, headers))).status).toBe(403)
  expect((await web.request('/api/keys', json('POST', { name: 'x' }, { ...headers, ...cookie }))).status).toBe(403)
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
])('POST /api/keys with a session from %s: %d', async (_who, status, headers) => {
  const { web, signIn, platform } = testPlatform()
  const { cookie } = await signIn()
  const response = await web.request('/api/keys', json('POST', { name: 'laptop' }, { ...cookie, ...headers }))
  expect(response.status).toBe(status)
  if (status === 403) expect(await response.json()).toEqual({ error: 'Missing CSRF token' })
  expect(countRows(platform.db).api_keys).toBe(status === 201 ? 1 : 0)
})

test('POST /api/keys: 201 from a foreign origin with a token of GET /api/auth/csrf, for 24 hours and in one session', async () => {
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

test('POST /api/agents/provision: requires no CSRF token when an sk_ key comes from a foreign origin', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn('ada@example.com', 'network')
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  const response = await web.request('/api/agents/provision', json('POST', {}, { ...bearer(key), ...FOREIGN }))
  expect(response.status).toBe(400)
})

import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { listCommonPasswords, requireUncommon } from '../passwords/passwords.ts'
import { users } from '../users/tables.ts'
import { RegisterResponse } from './schemas.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse', name: 'Ada' }
const WALLET = `0x${'ab'.repeat(20)}@wallet.localhost`

test('POST /api/register: 200 with id, e-mail and name, no session, and no plan in the cloud', async () => {
  const { web, platform } = testPlatform()
  const response = await web.request('/api/register', json('POST', ADA))
  expect(response.status).toBe(200)
  expect(response.headers.getSetCookie()).toEqual([])
  expect(await response.json()).toEqual({
    id: expect.stringMatching(/^usr_\w{22}$/),
    email: 'ada@example.com',
    name: 'Ada',
  })
  expect(platform.db.select().from(users).all()).toMatchObject([{ plan: 'free', subscriptionStatus: 'inactive' }])
  expect(countRows(platform.db).sessions).toBe(0)
})

test.each([{}, { name: '' }, { name: '  ' }])(
  'POST /api/register: when the name is %j, 200 with the e-mail as the name',
  async (name) => {
    const { web } = testPlatform()
    const { email, password } = ADA
    const account = await read(
      RegisterResponse,
      web.request('/api/register', json('POST', { email, password, ...name })),
    )
    expect(account.name).toBe('ada@example.com')
  },
)

test('POST /api/register: 200 with the e-mail in lower case and without surrounding space', async () => {
  const { web } = testPlatform()
  const request = json('POST', { ...ADA, email: '  Ada@Example.COM ' })
  expect((await read(RegisterResponse, web.request('/api/register', request))).email).toBe('ada@example.com')
})

test.each([
  [{}, 'Email and password required'],
  [{ password: 'correct horse' }, 'Email and password required'],
  [{ email: '', password: 'correct horse' }, 'Email and password required'],
  [{ email: 7, password: 'correct horse' }, 'Email and password required'],
  [{ email: 'ada@example.com' }, 'Email and password required'],
  [{ email: 'ada@example.com', password: '' }, 'Email and password required'],
  [{ email: 'ada@example.com', password: null }, 'Email and password required'],
  [{ email: 'ada', password: 'correct horse' }, 'Invalid email format'],
  [{ email: 'ada@', password: 'correct horse' }, 'Invalid email format'],
  [{ email: `${'a'.repeat(250)}@example.com`, password: 'correct horse' }, 'Invalid email format'],
  [{ email: 'ada@example.com', password: '7 chars' }, 'Password must be at least 8 characters'],
  [{ email: 'ada@example.com', password: 'x'.repeat(1025) }, 'Password must be at most 1024 characters'],
  [{ ...ADA, password: 'password' }, 'Password is too common'],
  [{ ...ADA, password: 'PassWord1' }, 'Password is too common'],
  [{ ...ADA, password: '１２３４５６７８９' }, 'Password is too common'],
  [{ ...ADA, name: 7 }, 'Name must be text'],
  [{ ...ADA, referralCode: 'ABC_DEF' }, 'Invalid referral code'],
  [{ ...ADA, referralCode: 'A'.repeat(21) }, 'Invalid referral code'],
  [{ ...ADA, referralCode: 7 }, 'Invalid referral code'],
  [{ ...ADA, referralCode: 'ÄÖ' }, 'Invalid referral code'],
  [{ ...ADA, proof: 7 }, 'Invalid input: expected object, received number'],
  [{ ...ADA, name: 'x'.repeat(101) }, 'Name must be at most 100 characters'],
  [{ ...ADA, email: WALLET }, 'Invalid email format'],
  [{ ...ADA, email: WALLET.toUpperCase().replace('0X', '0x') }, 'Invalid email format'],
])('POST /api/register: 400 when the body is %j, and nothing is written', async (body, error) => {
  const { web, platform } = testPlatform()
  const before = countRows(platform.db)
  const response = await web.request('/api/register', json('POST', body))
  expect(await response.json()).toEqual({ error })
  expect(response.status).toBe(400)
  expect(countRows(platform.db)).toEqual(before)
})

test.each(['null', '[]', '"text"', '7', '{', ''])('POST /api/register: 400 when the raw body is %p', async (body) => {
  const { web, platform } = testPlatform()
  const headers = { 'content-type': 'application/json' }
  const response = await web.request('/api/register', { method: 'POST', headers, body })
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error: expect.stringMatching(/\w{4}/) })
  expect(countRows(platform.db).users).toBe(0)
})

test.each(['text/plain', 'application/x-www-form-urlencoded'])(
  'POST /api/register: 400 when the body is sent as %s',
  async (type) => {
    const { web, platform } = testPlatform()
    const body = JSON.stringify(ADA)
    const response = await web.request('/api/register', { method: 'POST', headers: { 'content-type': type }, body })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 'Content-Type must be application/json' })
    expect(countRows(platform.db).users).toBe(0)
  },
)

test('POST /api/register: 200 without the plan, credits and id that the request contains', async () => {
  const { web, platform } = testPlatform()
  const wishes = { id: 'usr_mine', plan: 'network', subscriptionStatus: 'active', credits: 1e6, isAdmin: true }
  await web.request('/api/register', json('POST', { ...ADA, ...wishes }))
  const [row] = platform.db.select().from(users).all()
  expect(row).toMatchObject({ plan: 'free', subscriptionStatus: 'inactive', credits: 0 })
  expect(row?.id).not.toBe('usr_mine')
})

test('POST /api/register: 409 when the address is taken in any spelling', async () => {
  const { web, platform } = testPlatform()
  await web.request('/api/register', json('POST', ADA))
  const response = await web.request('/api/register', json('POST', { ...ADA, email: 'ADA@example.com' }))
  expect(response.status).toBe(409)
  expect(await response.json()).toEqual({ error: 'User already exists' })
  expect(countRows(platform.db).users).toBe(1)
})

test('requireUncommon throws for 10,000 common passwords in any case', () => {
  const common = listCommonPasswords()
  expect(new Set(common).size).toBe(10_000)
  for (const password of common) {
    expect(password.length).toBeGreaterThanOrEqual(8)
    expect(() => requireUncommon(password)).toThrow('Password is too common')
    expect(() => requireUncommon(password.toUpperCase())).toThrow('Password is too common')
    expect(() => requireUncommon(`${password} and then some`)).not.toThrow()
  }
})

test('POST /api/register: 409 when the address is taken and one of them is in full-width letters', async () => {
  const { web } = testPlatform()
  const request = json('POST', { ...ADA, email: 'Ａｄａ＠example.com' })
  expect((await read(RegisterResponse, web.request('/api/register', request))).email).toBe('ada@example.com')
  expect((await web.request('/api/register', json('POST', ADA))).status).toBe(409)
})

test('POST /api/register: 200 once when 200 concurrent requests send one address in different case', async () => {
  const { web, platform } = testPlatform()
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const email = [...ADA.email]
        .map((letter, at) => ((index >> (at % 6)) & 1 ? letter.toUpperCase() : letter))
        .join('')
      return (await web.request('/api/register', json('POST', { ...ADA, email }))).status
    }),
  )
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  // Requests beyond the hasher's waiting line get 429.
  expect(statuses.filter((status) => ![200, 409, 429].includes(status))).toEqual([])
  expect(countRows(platform.db).users).toBe(1)
})

test('POST /api/register: 403 when the honeypot field is filled, and nothing is written', async () => {
  const { web, platform } = testPlatform()
  const response = await web.request('/api/register', json('POST', { ...ADA, website: 'https://spam.example' }))
  expect(response.status).toBe(403)
  expect(await response.json()).toEqual({ error: 'Access denied' })
  expect(countRows(platform.db).users).toBe(0)
})

test.each([
  ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 403],
  ['my-crawler/1.0', 403],
  ['some spider', 403],
  ['curl/8.5.0', 200],
  ['python-requests/2.32', 200],
  ['Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/140.0 Safari/537.36', 200],
  ['Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15', 200],
])('POST /api/register: when the user agent is %s, %d', async (agent, status) => {
  const { web } = testPlatform()
  const response = await web.request('/api/register', json('POST', ADA, { 'user-agent': agent }))
  expect(response.status).toBe(status)
})

test('POST /api/register: 200 for any user agent when BOT_DETECTION=off', async () => {
  const { web } = testPlatform({ environment: { BOT_DETECTION: 'off' } })
  const request = json('POST', { ...ADA, website: 'x' }, { 'user-agent': 'Googlebot' })
  expect((await web.request('/api/register', request)).status).toBe(200)
})

test('POST /api/register: 403 when sign-up is closed, and nothing is written', async () => {
  const { web, platform } = testPlatform({ environment: { SIGN_UP: 'closed' } })
  const response = await web.request('/api/register', json('POST', ADA))
  expect(response.status).toBe(403)
  expect(await response.json()).toEqual({ error: 'Sign-up is closed' })
  expect(countRows(platform.db).users).toBe(0)
})

test('POST /api/register: 429 with RateLimit headers when one address exceeds its rate, 200 from another', async () => {
  const { api } = testPlatform({ environment: { RATE_LIMIT_REGISTER: '2' } })
  const ask = (address: string) => api('web', { address }).request('/api/register', json('POST', {}))
  expect((await ask('203.0.113.1')).headers.get('ratelimit-remaining')).toBe('1')
  await ask('203.0.113.1')
  const refused = await ask('203.0.113.1')
  expect(refused.status).toBe(429)
  expect(await refused.json()).toEqual({ error: 'Too many requests' })
  expect(refused.headers.get('ratelimit-limit')).toBe('2')
  expect(refused.headers.get('ratelimit-remaining')).toBe('0')
  expect(Number(refused.headers.get('ratelimit-reset'))).toBeGreaterThan(0)
  expect(refused.headers.get('x-ratelimit-limit')).toBeNull()
  expect((await ask('203.0.113.2')).status).toBe(400)
})

test.each<[Record<string, string>, object]>([
  [{}, { plan: 'network', subscriptionStatus: 'active' }],
  [{ DEFAULT_PLAN: 'solo' }, { plan: 'solo', subscriptionStatus: 'active' }],
  [{ DEFAULT_PLAN: 'free' }, { plan: 'free', subscriptionStatus: 'inactive' }],
])(
  'POST /api/register: 200 at home with %j for an administrator, and for a second account with %j',
  async (environment, second) => {
    const { api, platform } = testPlatform({ environment: { DEPLOYMENT_MODE: 'home', ...environment } })
    const web = api('web', { address: '127.0.0.1' })
    await web.request('/api/register', json('POST', ADA))
    await web.request('/api/register', json('POST', { ...ADA, email: 'eve@example.com' }))
    expect(platform.db.select().from(users).all()).toMatchObject([
      { email: 'ada@example.com', plan: 'network', subscriptionStatus: 'active', isAdmin: true },
      { email: 'eve@example.com', isAdmin: false, ...second },
    ])
  },
)

test('POST /api/register: 200 for the first account at home, which administers, 403 for the second', async () => {
  const { api } = testPlatform({ environment: { DEPLOYMENT_MODE: 'home' } })
  const web = api('web', { address: '127.0.0.1' })
  const statuses = []
  for (const email of ['ada@example.com', 'eve@example.com']) {
    await web.request('/api/register', json('POST', { ...ADA, email }))
    const login = await web.request('/api/auth/login', json('POST', { ...ADA, email }))
    const cookie = login.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ')
    statuses.push((await web.request('/api/admin/users', { headers: { cookie } })).status)
  }
  expect(statuses).toEqual([200, 403])
})

test('POST /api/register: 200 in the cloud without administrator rights, at home with them for one of 20 concurrent accounts', async () => {
  const cloud = testPlatform()
  await cloud.web.request('/api/register', json('POST', ADA))
  expect(cloud.platform.db.select().from(users).all()).toMatchObject([{ isAdmin: false, plan: 'free' }])
  const home = testPlatform({ environment: { DEPLOYMENT_MODE: 'home' } })
  const web = home.api('web', { address: '127.0.0.1' })
  const emails = Array.from({ length: 20 }, (_, index) => `ada${index}@example.com`)
  await Promise.all(emails.map((email) => web.request('/api/register', json('POST', { ...ADA, email }))))
  const made = home.platform.db.select().from(users).all()
  expect([made.length, made.filter(({ isAdmin }) => isAdmin).length]).toEqual([20, 1])
})

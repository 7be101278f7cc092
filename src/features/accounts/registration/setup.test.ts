import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { auditLog } from '../audit/tables.ts'
import { users } from '../users/tables.ts'
import { SetupResponse } from './schemas.ts'
import { createConfiguredOwner, issueSetupLink, toSetupUrl } from './setup.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse', name: 'Ada' }
const HOME = { DEPLOYMENT_MODE: 'home' }

/** A platform without any account whose start has made a link. */
async function newPlatform(environment: Record<string, string> = HOME) {
  const it = testPlatform({ environment })
  const link = await issueSetupLink(it.platform)
  if (!link) throw new Error('There is an account already')
  return {
    ...it,
    token: link.token,
    setUp: (body: Record<string, unknown>) => it.web.request('/api/setup', json('POST', { ...ADA, ...body })),
    listUsers: () => it.platform.db.select().from(users).all(),
    isNeeded: async () => (await read(SetupResponse, it.web.request('/api/setup'))).isNeeded,
  }
}

test.each(['home', 'cloud', 'link'])(
  'POST /api/setup: 200 in mode %s creates the administrator from any address, and GET /api/setup reports it',
  async (mode) => {
    const it = await newPlatform({ DEPLOYMENT_MODE: mode })
    expect(await it.isNeeded()).toBe(true)
    const response = await it.setUp({ token: it.token, email: 'ADA@example.com' })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ id: expect.stringMatching(/^usr_/), email: 'ada@example.com', name: 'Ada' })
    expect(it.listUsers()).toMatchObject([{ isAdmin: true, plan: 'network', subscriptionStatus: 'active' }])
    expect(await it.isNeeded()).toBe(false)
    expect((await it.web.request('/api/auth/login', json('POST', ADA))).status).toBe(200)
    expect(it.platform.db.select().from(auditLog).all()).toMatchObject([
      { action: 'account.set-up', address: '203.0.113.7' },
    ])
  },
)

test('the token of POST /api/setup is stored as a hash only, and the link has the URL of the page', async () => {
  const it = await newPlatform()
  expect(it.token).toMatch(/^\w{43}$/)
  expect(dumpTables(it.platform.db)).not.toContain(it.token)
  expect(toSetupUrl('https://stead.example', it.token)).toBe(`https://stead.example/setup?token=${it.token}`)
})

test.each([
  ['unknown', 'unknown'],
  ['an older one', null],
])('POST /api/setup: 403 when the token is %s, and no account is created', async (_case, given) => {
  const it = await newPlatform()
  const token = given ?? it.token
  await issueSetupLink(it.platform)
  const response = await it.setUp({ token })
  expect(response.status).toBe(403)
  expect(await response.json()).toEqual({ error: expect.stringContaining('stead user setup-link') })
  expect(it.listUsers()).toEqual([])
})

test('POST /api/setup: 403 when the link is a day old', async () => {
  const it = await newPlatform()
  it.clock.advance(24 * 3_600_000)
  expect((await it.setUp({ token: it.token })).status).toBe(403)
})

test('POST /api/setup: 409 when any account exists, and no new link is created', async () => {
  const it = await newPlatform({ DEPLOYMENT_MODE: 'cloud' })
  expect((await it.web.request('/api/register', json('POST', { ...ADA, email: 'eve@example.com' }))).status).toBe(200)
  const response = await it.setUp({ token: it.token })
  expect(response.status).toBe(409)
  expect(it.listUsers()).toMatchObject([{ email: 'eve@example.com', isAdmin: false }])
  expect(await issueSetupLink(it.platform)).toBeNull()
})

test('POST /api/setup: 200 once when requests are concurrent, 409 for the others', async () => {
  const it = await newPlatform()
  const responses = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) => it.setUp({ token: it.token, email: `${name}@example.com` })),
  )
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
  expect(it.listUsers()).toHaveLength(1)
})

test.each([
  [{ email: 'ada' }, 'Invalid email format'],
  [{ password: 'short' }, 'Password must be at least 8 characters'],
  [{ password: 'password123' }, 'Password is too common'],
  [{ email: `0x${'a'.repeat(40)}@wallet.localhost` }, 'Invalid email format'],
  [{ token: '' }, 'This setup link is not complete'],
])('POST /api/setup: 400 when the body is %j, and the link stays valid', async (body, error) => {
  const it = await newPlatform()
  const response = await it.setUp({ token: it.token, ...body })
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
  expect((await it.setUp({ token: it.token })).status).toBe(200)
})

test('POST /api/setup: 429 when one address exceeds the rate of sign-ups', async () => {
  const it = await newPlatform({ ...HOME, RATE_LIMIT_REGISTER: '1' })
  expect((await it.setUp({ token: 'unknown' })).status).toBe(403)
  expect((await it.setUp({ token: it.token })).status).toBe(429)
})

test.each([
  ['another machine', '203.0.113.7', {}, {}],
  ['a machine of the same network', '192.168.1.20', {}, {}],
  ['nobody knows where', null, {}, {}],
  ['a proxy on this machine that tells for whom', '127.0.0.1', { 'x-forwarded-for': '203.0.113.7' }, {}],
  ['a proxy on this machine that says it is the caller', '127.0.0.1', { 'x-forwarded-for': '127.0.0.1' }, {}],
  ['a proxy that keeps the name', '127.0.0.1', { via: '1.1 caddy' }, {}],
  ['a silent proxy of a public Stead', '127.0.0.1', {}, { APP_URL: 'https://stead.example' }],
])(
  'POST /api/register and POST /api/wallet-auth: 403 SETUP_REQUIRED at home from %s while there is no account',
  async (_case, address, headers, environment) => {
    const it = await newPlatform({ ...HOME, ...environment })
    const web = it.api('web', { address })
    const register = () => web.request('/api/register', json('POST', { ...ADA, email: 'eve@example.com' }, headers))
    for (const refused of [
      await register(),
      await web.request('/api/wallet-auth', json('POST', { message: 'm', signature: '0x', address: '0x' }, headers)),
    ]) {
      expect(refused.status).toBe(403)
      expect(await refused.json()).toMatchObject({ code: 'SETUP_REQUIRED' })
    }
    expect(it.listUsers()).toEqual([])
    await it.setUp({ token: it.token })
    expect((await register()).status).toBe(200)
    expect(it.listUsers()).toMatchObject([{ isAdmin: true }, { email: 'eve@example.com', isAdmin: false }])
  },
)

test.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])(
  'POST /api/register: 200 at home from this machine (%s), for the administrator',
  async (address) => {
    const it = await newPlatform()
    const response = await it.api('web', { address }).request('/api/register', json('POST', ADA))
    expect(response.status).toBe(200)
    expect(it.listUsers()).toMatchObject([{ isAdmin: true }])
  },
)

test('ADMIN_EMAIL and ADMIN_PASSWORD create an administrator with a verified address at the first start only', async () => {
  const it = await newPlatform()
  const { firstAdmin } = testPlatform({
    environment: { ADMIN_EMAIL: 'Ada@Example.com', ADMIN_PASSWORD: 'correct horse' },
  }).config
  if (!firstAdmin) throw new Error('The settings name nobody')
  expect(await createConfiguredOwner(it.platform, firstAdmin)).toMatchObject({ email: 'ada@example.com' })
  expect(await createConfiguredOwner(it.platform, { ...firstAdmin, email: 'eve@example.com' })).toBeNull()
  expect(it.listUsers()).toMatchObject([
    { email: 'ada@example.com', isAdmin: true, plan: 'network', emailVerifiedAt: it.clock.now() },
  ])
  expect((await it.setUp({ token: it.token })).status).toBe(409)
})

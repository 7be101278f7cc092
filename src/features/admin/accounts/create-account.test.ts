import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { mailingPlatform } from '../../../../tests/harness/mailing-platform.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { users } from '../../accounts/users/tables.ts'
import { CreatedUser } from './schemas.ts'

const ADMIN = 'root@example.com'
const EVE = 'eve@example.com'

async function installation(environment: Record<string, string> = {}) {
  const test = testPlatform({ environment: { ADMIN_EMAILS: ADMIN, SIGN_UP: 'closed', ...environment } })
  const admin = await test.signIn(ADMIN)
  return {
    ...test,
    create: (body: unknown, headers: Record<string, string> = admin.cookie) =>
      test.web.request('/api/admin/users', json('POST', body, headers)),
    choose: (url: string | null, password = 'correct horse') => {
      const token = new URL(url ?? '').searchParams.get('token')
      return test.web.request('/api/auth/reset-password', json('POST', { token, password }))
    },
    login: (password = 'correct horse') => test.web.request('/api/auth/login', json('POST', { email: EVE, password })),
    row: () => test.platform.db.select().from(users).where(eq(users.email, EVE)).get(),
  }
}

test('POST /api/admin/users: 201 with a link that sets the password once; the new user signs in with the plan', async () => {
  const { create, choose, login, row, platform } = await installation()
  const response = await create({ email: ' Eve@Example.com', name: 'Eve', plan: 'label' })
  expect(response.status).toBe(201)
  const { user, mailed, url } = await read(CreatedUser, response)
  expect(user).toMatchObject({ email: EVE, name: 'Eve', plan: 'label', subscriptionStatus: 'active', isAdmin: false })
  expect(mailed).toBeFalse()
  expect(dumpTables(platform.db)).not.toContain(new URL(url ?? '').searchParams.get('token') ?? 'no token')
  expect((await choose(url)).status).toBe(200)
  expect((await login()).status).toBe(200)
  expect((await choose(url, 'another horse')).status).toBe(400)
  expect(row()).toMatchObject({ plan: 'label', subscriptionStatus: 'active' })
  expect(platform.db.select().from(auditLog).all()).toContainEqual(
    expect.objectContaining({ action: 'account.create', target: user.id, detail: { plan: 'label' } }),
  )
})

test('POST /api/admin/users: 201 with a link that works for seven days', async () => {
  const { create, choose, clock } = await installation()
  const { url } = await read(CreatedUser, create({ email: EVE }))
  clock.advance(6.9 * 86_400_000)
  expect((await choose(url)).status).toBe(200)
  const { url: late } = await read(CreatedUser, create({ email: 'bo@example.com' }))
  clock.advance(7.1 * 86_400_000)
  expect((await choose(late)).status).toBe(400)
})

test.each<[Record<string, string>, object, string]>([
  [{}, {}, 'free'],
  [{ DEFAULT_PLAN: 'solo' }, {}, 'solo'],
  [{ DEFAULT_PLAN: 'solo' }, { plan: 'free' }, 'free'],
  [{ DEPLOYMENT_MODE: 'home' }, {}, 'network'],
  [{ DEPLOYMENT_MODE: 'home' }, { plan: 'label' }, 'label'],
])('POST /api/admin/users: 201 with %j and %j; the account has the plan %s', async (environment, body, plan) => {
  const { create, row } = await installation(environment)
  expect((await create({ email: EVE, ...body })).status).toBe(201)
  expect(row()?.plan).toBe(plan)
})

test.each<[number, unknown, object]>([
  [400, {}, { error: 'email is required' }],
  [400, { email: 'eve' }, { error: 'Invalid email format' }],
  [400, { email: `0x${'ab'.repeat(20)}@wallet.localhost` }, { error: 'Invalid email format' }],
  [400, { email: EVE, plan: 'gold' }, { error: 'Invalid plan. Supported: solo, collective, label, network' }],
  [409, { email: ADMIN }, { error: 'User already exists' }],
])('POST /api/admin/users: %d when the body is %j, and no account is created', async (status, body, error) => {
  const { create, platform } = await installation()
  const response = await create(body)
  expect([response.status, await response.json()]).toMatchObject([status, error])
  expect(platform.db.select().from(users).all()).toHaveLength(1)
})

test('POST /api/admin/users: 401 without a session, 403 for a user who is not an administrator', async () => {
  const { create, signIn } = await installation()
  const ada = await signIn('ada@example.com')
  expect((await create({ email: EVE }, {})).status).toBe(401)
  expect((await create({ email: EVE }, ada.cookie)).status).toBe(403)
})

test('POST /api/admin/users: 201 and the link is sent by mail and not returned, unless sendMail is false', async () => {
  await using test = await mailingPlatform({ environment: { ADMIN_EMAILS: ADMIN } })
  const { user, cookie } = await test.signIn(ADMIN)
  await test.platform.connection.tx.update(users).set({ emailVerifiedAt: new Date() }).where(eq(users.id, user.id))
  const create = (body: object) => read(CreatedUser, test.web.request('/api/admin/users', json('POST', body, cookie)))
  expect(await create({ email: EVE })).toMatchObject({ mailed: true, url: null })
  const mail = await test.arrival(EVE, 'Your account is ready')
  const token = /reset-password\?token=([\w-]+)/.exec(mail.text)?.[1]
  const choose = json('POST', { token, password: 'correct horse' })
  expect((await test.web.request('/api/auth/reset-password', choose)).status).toBe(200)
  expect(await test.login(EVE, 'correct horse')).not.toBe('')
  const shown = await create({ email: 'bo@example.com', sendMail: false })
  expect(shown).toMatchObject({
    mailed: false,
    url: expect.stringContaining('https://stead.example/reset-password?token='),
  })
})

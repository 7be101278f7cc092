import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { CreatedKey } from '../keys/schemas.ts'
import { changePassword } from '../passwords/change-password.ts'
import { type UserRow, users } from '../users/tables.ts'
import { Settings } from './schemas.ts'
import { getSettings } from './settings.ts'

const MINUTE_MS = 60_000

test('GET /api/settings: 200 with a session or an sk_ key, without secrets', async () => {
  const { web, signIn } = testPlatform()
  const { user, cookie } = await signIn('ada@example.com', 'solo')
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  for (const headers of [cookie, bearer(key)]) {
    const response = await web.request('/api/settings', { headers })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      id: user.id,
      email: 'ada@example.com',
      name: 'ada@example.com',
      plan: 'solo',
      credits: 0,
      twoFactorEnabled: false,
      emailVerified: false,
      pendingEmail: null,
      hasPassword: false,
      notifications: {},
      timeZone: null,
      storage: { used: 0, limit: 1024 ** 3 },
    })
  }
})

test.each(['GET', 'POST', 'PATCH'] as const)('%s /api/settings: 401 without credentials', async (method) => {
  const { web } = testPlatform()
  const init = method === 'GET' ? {} : json(method, { name: 'Eve' })
  const response = await web.request('/api/settings', init)
  expect(response.status).toBe(401)
  expect(await response.json()).toEqual({ error: 'Unauthorized' })
})

test('POST /api/settings: 200 with the changed account; an empty name is ignored', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const post = (body: unknown) => read(Settings, web.request('/api/settings', json('POST', body, cookie)))
  expect(await post({ name: ' Ada Lovelace ', email: 'Ada.L@Example.com' })).toMatchObject({
    name: 'Ada Lovelace',
    email: 'ada.l@example.com',
  })
  expect(await post({ name: '  ' })).toMatchObject({ name: 'Ada Lovelace', email: 'ada.l@example.com' })
  expect(await post({})).toMatchObject({ name: 'Ada Lovelace' })
})

test.each([
  [{ email: 'nobody' }, 400, 'Invalid email format'],
  [{ email: '' }, 400, 'Invalid email format'],
  [{ email: 7 }, 400, 'Invalid email format'],
  [{ email: `${'a'.repeat(250)}@example.com` }, 400, 'Invalid email format'],
  [{ email: `0x${'aB'.repeat(20)}@wallet.localhost` }, 400, 'Invalid email format'],
  [{ email: 'EVE@example.com' }, 409, 'Email already in use'],
  [{ name: 'x'.repeat(101) }, 400, 'Name must be at most 100 characters'],
  [{ name: {} }, 400, 'Name must be text'],
])('POST /api/settings: when the body is %j, %d, and name and address stay', async (body, status, error) => {
  const { web, signIn } = testPlatform()
  await signIn('eve@example.com')
  const { cookie } = await signIn('ada@example.com')
  const response = await web.request('/api/settings', json('POST', { name: 'Changed', ...body }, cookie))
  expect(response.status).toBe(status)
  expect(await response.json()).toEqual({ error })
  const now = await read(Settings, web.request('/api/settings', { headers: cookie }))
  expect(now).toMatchObject({ email: 'ada@example.com', name: 'ada@example.com' })
})

test('PATCH /api/settings: 200 keeps omitted fields and merges notification settings', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const patch = (body: unknown) => read(Settings, web.request('/api/settings', json('PATCH', body, cookie)))
  await patch({ name: 'Ada', notifications: { email: true, chat: { crashes: 'always' } } })
  await patch({ notifications: { email: false } })
  expect(await patch({})).toMatchObject({
    name: 'Ada',
    notifications: { email: false, chat: { crashes: 'always' } },
  })
})

test.each([
  ['a list', []],
  ['text', 'all'],
  ['too many', Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`n${index}`, true]))],
  ['a name that is too long', { ['x'.repeat(65)]: true }],
  ['an empty name', { '': true }],
  ['too much', { email: 'x'.repeat(5000) }],
])('PATCH /api/settings: 400 when notifications are %s', async (_what, notifications) => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const response = await web.request('/api/settings', json('PATCH', { name: 'Changed', notifications }, cookie))
  expect(response.status).toBe(400)
  const now = await read(Settings, web.request('/api/settings', { headers: cookie }))
  expect(now).toMatchObject({ name: 'ada@example.com', notifications: {} })
})

test('PATCH /api/settings: 200 with the time zone, which GET returns and other changes keep', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const show = () => read(Settings, web.request('/api/settings', { headers: cookie }))
  expect((await show()).timeZone).toBeNull()
  const response = await web.request('/api/settings', json('PATCH', { timeZone: 'Europe/Berlin' }, cookie))
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ timeZone: 'Europe/Berlin' })
  await web.request('/api/settings', json('PATCH', { name: 'Ada' }, cookie))
  expect(await show()).toMatchObject({ name: 'Ada', timeZone: 'Europe/Berlin' })
})

test.each(['Mars/Olympus', '+02:00', '', 'x'.repeat(65), 7, null])(
  'PATCH /api/settings: 400 when the time zone is %j, and nothing changes',
  async (timeZone) => {
    const { web, signIn } = testPlatform()
    const { cookie } = await signIn()
    const response = await web.request('/api/settings', json('PATCH', { name: 'Changed', timeZone }, cookie))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: expect.stringContaining('IANA time zone') })
    const kept = await read(Settings, web.request('/api/settings', { headers: cookie }))
    expect(kept).toMatchObject({ name: 'ada@example.com', timeZone: null })
  },
)

test('PATCH /api/settings: 400 when stored and sent entries together exceed the limit', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const patch = (prefix: string) => {
    const notifications = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${prefix}${index}`, true]))
    return web.request('/api/settings', json('PATCH', { notifications }, cookie))
  }
  expect((await patch('a')).status).toBe(200)
  expect((await patch('b')).status).toBe(400)
  expect((await patch('a')).status).toBe(200)
})

test.each(['POST', 'PATCH'] as const)('%s /api/settings: 200 without a change of protected columns', async (method) => {
  const { web, signIn, platform } = testPlatform({ environment: { ADMIN_EMAILS: 'boss@example.com' } })
  const { user, cookie } = await signIn()
  const wanted: Record<keyof Omit<UserRow, 'email' | 'name' | 'notifications' | 'timeZone'>, unknown> &
    Record<string, unknown> = {
    id: 'usr_other',
    passwordHash: 'x',
    plan: 'network',
    subscriptionStatus: 'active',
    subscriptionId: 'sub_1',
    credits: 1_000_000,
    createdAt: 0,
    updatedAt: 0,
    emailVerifiedAt: 1,
    referralCode: 'MINE',
    twoFactorSecret: 'x',
    twoFactorEnabledAt: 1,
    twoFactorStep: 99,
    disabledAt: 1,
    externalSignInDisabledAt: 1,
    isAdmin: true,
    twoFactorEnabled: true,
    emailVerified: true,
    pendingEmail: 'boss@example.com',
    role: 'admin',
  }
  const response = await web.request('/api/settings', json(method, wanted, cookie))
  expect(response.status).toBe(200)
  expect(platform.db.select().from(users).where(eq(users.id, user.id)).get()).toEqual(user)
  const session = await web.request('/api/auth/session', { headers: cookie })
  expect(await session.json()).toMatchObject({ user: { id: user.id, isAdmin: false } })
})

test('POST /api/settings: 200 for another address with the password or a sign-in of the last 15 minutes, 401 otherwise', async () => {
  const { web, clock, platform } = testPlatform()
  const ada = { email: 'ada@example.com', password: 'correct horse' }
  await web.request('/api/register', json('POST', ada))
  const login = await web.request('/api/auth/login', json('POST', ada))
  const cookie = { cookie: login.headers.getSetCookie()[0]?.split(';')[0] ?? '' }
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  const change = async (body: unknown, headers: Record<string, string>) => {
    const response = await web.request('/api/settings', json('POST', body, headers))
    return [response.status, platform.db.select().from(users).get()?.email]
  }
  expect(await change({ email: 'key@example.com' }, bearer(key))).toEqual([401, 'ada@example.com'])
  expect(await change({ email: 'new@example.com', currentPassword: 'wrong' }, cookie)).toEqual([401, 'ada@example.com'])
  expect(await change({ email: 'new@example.com' }, cookie)).toEqual([200, 'new@example.com'])
  clock.advance(15 * MINUTE_MS)
  expect(await change({ email: 'ada@example.com' }, cookie)).toEqual([401, 'new@example.com'])
  expect(await change({ email: 'new@example.com', name: 'Same' }, cookie)).toEqual([200, 'new@example.com'])
  const proved = { email: 'ada@example.com', currentPassword: ada.password }
  expect(await change(proved, bearer(key))).toEqual([200, 'ada@example.com'])
  const refused = await web.request('/api/settings', json('POST', { email: 'x@example.com' }, cookie))
  expect(await refused.json()).toEqual({ error: 'Current password is incorrect', code: 'FRESH_SESSION_REQUIRED' })
})

test('POST /api/settings: 401 FRESH_SESSION_REQUIRED when an account without a password signed in long ago', async () => {
  const { web, clock, signIn } = testPlatform()
  const { cookie } = await signIn()
  clock.advance(15 * MINUTE_MS)
  const body = { email: 'new@example.com', currentPassword: 'anything' }
  const response = await web.request('/api/settings', json('POST', body, cookie))
  expect(response.status).toBe(401)
  expect(await response.json()).toEqual({ error: 'Sign in again to do this', code: 'FRESH_SESSION_REQUIRED' })
})

test('POST /api/settings: 200 for a new address, unverified, when no mail server is set', async () => {
  const { web, signIn, platform, clock } = testPlatform()
  const { user, cookie } = await signIn()
  await write(platform.db, (tx) => tx.update(users).set({ emailVerifiedAt: clock.now() }).run())
  const changed = await read(Settings, web.request('/api/settings', json('POST', { email: 'new@example.com' }, cookie)))
  expect(changed).toMatchObject({ id: user.id, email: 'new@example.com', emailVerified: false, pendingEmail: null })
})

test('POST /api/settings: 200 for one of 20 concurrent accounts that request one address, 409 for the others', async () => {
  const { web, signIn } = testPlatform()
  const people = await Promise.all(Array.from({ length: 20 }, (_, index) => signIn(`user${index}@example.com`)))
  const statuses = await Promise.all(
    people.map(async ({ cookie }) => {
      const response = await web.request('/api/settings', json('POST', { email: 'wanted@example.com' }, cookie))
      return response.status
    }),
  )
  expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 409)])
})

test('GET /api/settings and POST /api/settings/password: 404 when the account is deleted during the request', async () => {
  const { platform } = testPlatform()
  expect(() => getSettings(platform, 'usr_gone')).toThrow(expect.objectContaining({ kind: 'not_found' }))
  const caller = { userId: 'usr_gone', sessionToken: undefined, address: null }
  const change = changePassword(platform, caller, { currentPassword: undefined, newPassword: 'another battery staple' })
  await expect(change).rejects.toMatchObject({ kind: 'not_found', message: 'User not found' })
})

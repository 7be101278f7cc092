import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { mailingPlatform } from '../../../../tests/harness/mailing-platform.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { write } from '../../../db/write.ts'
import { createKey } from '../keys/keys.ts'
import { CreatedKey } from '../keys/schemas.ts'
import { issueEmailToken } from '../notifications/email-tokens.ts'
import { users } from '../users/tables.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }
const NEXT = 'another battery staple'

/** Ada, signed in at `browsers` places. */
async function withAda(browsers = 1) {
  const test = testPlatform()
  await test.web.request('/api/register', json('POST', ADA))
  const user = test.platform.db.select().from(users).get()
  const tokens = await Promise.all(
    Array.from({ length: browsers }, () => test.platform.sessions.create(user?.id ?? '')),
  )
  const cookies = tokens.map((token) => ({ cookie: `service-session=${token}` }))
  const cookie = cookies[0] ?? {}
  return {
    ...test,
    userId: user?.id ?? '',
    cookies,
    cookie,
    change: (body: unknown, headers: Record<string, string> = cookie) =>
      test.web.request('/api/settings/password', json('POST', body, headers)),
    canLogin: async (password: string) =>
      (await test.web.request('/api/auth/login', json('POST', { ...ADA, password }))).status === 200,
  }
}

test('POST /api/settings/password: 200 and only the new password signs in', async () => {
  const { change, canLogin } = await withAda()
  const response = await change({ currentPassword: ADA.password, newPassword: NEXT })
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ success: true })
  expect(await canLogin(NEXT)).toBe(true)
  expect(await canLogin(ADA.password)).toBe(false)
})

test('POST /api/settings/password: 200 and only the caller’s session of 50 is left, and reset links end', async () => {
  const { change, cookies, cookie, web, platform, userId, clock } = await withAda(50)
  const eve = await platform.sessions.create(userId)
  await write(platform.db, (tx) =>
    issueEmailToken(tx, { userId, purpose: 'reset-password', email: ADA.email }, clock.now()),
  )
  expect((await change({ currentPassword: ADA.password, newPassword: NEXT })).status).toBe(200)
  expect(countRows(platform.db)).toMatchObject({ sessions: 1, email_tokens: 0 })
  const who = async (headers: Record<string, string>) =>
    (await web.request('/api/settings', { headers })).status === 200
  expect(await who(cookie)).toBe(true)
  expect(await who(cookies[1] ?? {})).toBe(false)
  expect(await who({ cookie: `service-session=${eve}` })).toBe(false)
})

test.each([
  ['the account’s keys end with the old password when that is asked for', true, { success: true, keysEnded: 2 }, 0],
  ['keys stay when that is said', false, { success: true }, 2],
  ['keys stay when nothing is said', undefined, { success: true }, 2],
])('POST /api/settings/password: %s', async (_why, endKeys, answer, left) => {
  const { change, platform, userId, signIn } = await withAda()
  const bob = await signIn('bob@example.com')
  const his = await createKey(platform, bob.user.id, { name: 'his' })
  const hers = [await createKey(platform, userId, { name: 'one' }), await createKey(platform, userId, { name: 'two' })]
  const works = ({ key }: { key: string }) => platform.verifyKey(key) !== null

  const wrong = await change({ currentPassword: 'wrong horse', newPassword: NEXT, endKeys })
  expect([wrong.status, hers.filter(works)]).toEqual([401, hers])
  const response = await change({ currentPassword: ADA.password, newPassword: NEXT, endKeys })
  expect([response.status, await response.json()]).toEqual([200, answer])
  expect(hers.filter(works)).toHaveLength(left)
  expect(works(his)).toBe(true)
})

test.each([
  [{}, 400, 'Current and new password required'],
  [{ currentPassword: ADA.password }, 400, 'Current and new password required'],
  [{ newPassword: NEXT }, 400, 'Current and new password required'],
  [{ currentPassword: '', newPassword: NEXT }, 400, 'Current and new password required'],
  [{ currentPassword: ADA.password, newPassword: '' }, 400, 'Current and new password required'],
  [{ currentPassword: ADA.password, newPassword: 'short77' }, 400, 'Password must be at least 8 characters'],
  [{ currentPassword: ADA.password, newPassword: 'Password123' }, 400, 'Password is too common'],
  [{ currentPassword: ADA.password, newPassword: 'x'.repeat(1025) }, 400, 'Password must be at most 1024 characters'],
  [{ currentPassword: ADA.password, newPassword: NEXT, endKeys: 'all' }, 400, 'endKeys must be true or false'],
  [{ currentPassword: 'wrong horse', newPassword: NEXT }, 401, 'Current password is incorrect'],
])('POST /api/settings/password: when the body is %j, %d and nothing changes', async (body, status, error) => {
  const { change, platform, canLogin } = await withAda(2)
  const response = await change(body)
  expect(await response.json()).toEqual({ error })
  expect(response.status).toBe(status)
  expect(countRows(platform.db).sessions).toBe(2)
  expect(await canLogin(ADA.password)).toBe(true)
})

test('POST /api/settings/password: 401 without a session, also with an sk_ key', async () => {
  const { change, web, cookie } = await withAda()
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  for (const headers of [{}, bearer(key), { cookie: 'service-session=made-up' }]) {
    const response = await change({ currentPassword: ADA.password, newPassword: NEXT }, headers)
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({ error: 'Not authenticated' })
  }
})

test('POST /api/settings/password: 429 for 15 minutes after ten wrong passwords, also with the right one', async () => {
  const { change, clock } = await withAda()
  const wrong = { currentPassword: 'wrong horse', newPassword: NEXT }
  const statuses = await Promise.all(Array.from({ length: 30 }, async () => (await change(wrong)).status))
  expect(statuses.filter((status) => status === 401)).toHaveLength(10)
  expect(statuses.filter((status) => status === 429)).toHaveLength(20)
  const right = { currentPassword: ADA.password, newPassword: NEXT }
  const refused = await change(right)
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  clock.advance(15 * 60_000)
  expect((await change(right)).status).toBe(200)
})

test('POST /api/settings/password: 401 when an account without a password signed in long ago, 200 after a new sign-in', async () => {
  const { web, signIn, clock, platform } = testPlatform()
  const { user, cookie } = await signIn('wallet@example.com')
  clock.advance(15 * 60_000)
  const set = (headers: Record<string, string>) =>
    web.request('/api/settings/password', json('POST', { newPassword: NEXT }, headers))
  const stale = await set(cookie)
  expect(stale.status).toBe(401)
  expect(await stale.json()).toMatchObject({ code: 'FRESH_SESSION_REQUIRED' })
  expect((await set({ cookie: `service-session=${await platform.sessions.create(user.id)}` })).status).toBe(200)
  const row = platform.db.select().from(users).where(eq(users.id, user.id)).get()
  expect(row?.passwordHash).toStartWith('$argon2id$')
})

test('POST /api/settings/password: 200 for one of two concurrent changes, 401 for the other', async () => {
  const { change, canLogin } = await withAda()
  const wanted = ['first new password', 'second new password']
  const statuses = await Promise.all(
    wanted.map(async (newPassword) => (await change({ currentPassword: ADA.password, newPassword })).status),
  )
  expect(statuses.toSorted()).toEqual([200, 401])
  expect(await canLogin(wanted[statuses.indexOf(200)] ?? '')).toBe(true)
})

test('POST /api/settings/password: 200 and a mail to the owner without a link', async () => {
  await using test = await mailingPlatform()
  const cookie = await test.signUp(ADA.email, ADA.password)
  const body = { currentPassword: ADA.password, newPassword: NEXT }
  expect((await test.web.request('/api/settings/password', json('POST', body, cookie))).status).toBe(200)
  const mail = await test.arrival(ADA.email, 'password was changed')
  expect(mail.text).not.toContain('http')
})

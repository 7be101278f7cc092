import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { sha256 } from '../../../core/secrets.ts'
import { CreatedKey } from '../keys/schemas.ts'
import { SessionResponse } from '../registration/schemas.ts'
import { SessionList } from './schemas.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }
const MINUTE_MS = 60_000
const MONTH_MS = 30 * 86_400_000

/** Ada, who can sign in from anywhere, and what a browser sees. */
async function withAda() {
  const platform = testPlatform()
  await platform.web.request('/api/register', json('POST', ADA))
  return {
    ...platform,
    login: async (address: string, agent: string) => {
      const request = json('POST', ADA, { 'user-agent': agent })
      const response = await platform.api('web', { address }).request('/api/auth/login', request)
      return { cookie: response.headers.getSetCookie()[0]?.split(';')[0] ?? '' }
    },
    list: async (headers: Record<string, string>) =>
      (await read(SessionList, platform.web.request('/api/auth/sessions', { headers }))).sessions,
    end: (headers: Record<string, string>, id = '') =>
      platform.web.request(`/api/auth/sessions${id && '/'}${id}`, { method: 'DELETE', headers }),
    isSignedIn: async (headers: Record<string, string>) =>
      (await read(SessionResponse, platform.web.request('/api/auth/session', { headers }))).user !== null,
  }
}

test('GET /api/auth/sessions: 200 with the sessions, latest first', async () => {
  const { login, list, clock } = await withAda()
  const started = clock.now()
  const laptop = await login('203.0.113.1', 'Laptop')
  clock.advance(MINUTE_MS)
  const phone = await login('203.0.113.2', `Phone ${'x'.repeat(500)}`)
  const sessions = await list(laptop)
  const expiresAt = new Date(started.getTime() + MONTH_MS).toISOString()
  const createdAt = started.toISOString()
  expect(sessions).toMatchObject([
    { current: false, userAgent: `Phone ${'x'.repeat(250)}`, address: '203.0.113.2' },
    { current: true, userAgent: 'Laptop', address: '203.0.113.1', createdAt, lastSeen: createdAt, expiresAt },
  ])
  expect(sessions[1]?.id).toBe(sha256(laptop.cookie.replace('service-session=', '')).slice(0, 16))
  expect((await list(phone))[0]?.current).toBe(true)
})

test('GET /api/auth/sessions: 200 without ended sessions and those of others', async () => {
  const { login, list, signIn, clock } = await withAda()
  await login('203.0.113.1', 'Laptop')
  await signIn('eve@example.com')
  clock.advance(MONTH_MS)
  expect(await list(await login('203.0.113.2', 'Phone'))).toMatchObject([{ userAgent: 'Phone' }])
})

test('DELETE /api/auth/sessions/:id: 200 ends that session at once, and the caller’s stays', async () => {
  const { login, list, end, isSignedIn } = await withAda()
  const [laptop, phone] = [await login('203.0.113.1', 'Laptop'), await login('203.0.113.2', 'Phone')]
  const other = (await list(laptop)).find(({ current }) => !current)
  const response = await end(laptop, other?.id)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ success: true })
  expect(response.headers.getSetCookie()).toEqual([])
  expect([await isSignedIn(laptop), await isSignedIn(phone)]).toEqual([true, false])
})

test('DELETE /api/auth/sessions/:id: 200 clears the cookie when the session is the caller’s', async () => {
  const { login, list, end, isSignedIn } = await withAda()
  const laptop = await login('203.0.113.1', 'Laptop')
  const response = await end(laptop, (await list(laptop))[0]?.id)
  expect(response.status).toBe(200)
  expect(response.headers.getSetCookie()[0]).toMatch(/^service-session=; Max-Age=0; Path=\//)
  expect(await isSignedIn(laptop)).toBe(false)
})

test('DELETE /api/auth/sessions/:id: 404 for a stranger, a missing id and an invalid id; no session ends', async () => {
  const { login, list, end, signIn, platform } = await withAda()
  const laptop = await login('203.0.113.1', 'Laptop')
  const id = (await list(laptop))[0]?.id ?? ''
  const eve = await signIn('eve@example.com')
  for (const wrong of [id, '0'.repeat(16), id.slice(0, 15), '%25', '________________', id.toUpperCase() + id]) {
    const response = await end(eve.cookie, wrong)
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: 'Session not found' })
  }
  expect(countRows(platform.db).sessions).toBe(2)
})

test('DELETE /api/auth/sessions: 200 ends all other sessions of the account', async () => {
  const { login, end, isSignedIn, signIn } = await withAda()
  const eve = await signIn('eve@example.com')
  const others = await Promise.all(Array.from({ length: 20 }, (_, n) => login(`203.0.113.${n}`, 'Old')))
  const laptop = await login('203.0.113.99', 'Laptop')
  const response = await end(laptop)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ success: true })
  for (const other of others) expect(await isSignedIn(other)).toBe(false)
  expect([await isSignedIn(laptop), await isSignedIn(eve.cookie)]).toEqual([true, true])
})

test.each([
  ['GET', '/api/auth/sessions'],
  ['DELETE', '/api/auth/sessions'],
  ['DELETE', '/api/auth/sessions/0123456789abcdef'],
])('%s %s: 401 without a session, also with an sk_ key', async (method, path) => {
  const { web, signIn, platform } = testPlatform()
  const { cookie } = await signIn()
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  for (const headers of [{}, bearer(key), { cookie: 'service-session=made-up' }]) {
    expect((await web.request(path, { method, headers })).status).toBe(401)
  }
  expect(countRows(platform.db).sessions).toBe(1)
})

test('the time of last use of a session is stored at most every five minutes, after the response', async () => {
  const { login, list, clock } = await withAda()
  const laptop = await login('203.0.113.1', 'Laptop')
  const lastSeen = async () => (await list(laptop))[0]?.lastSeen ?? ''
  const first = await lastSeen()
  clock.advance(5 * MINUTE_MS - 1)
  await lastSeen()
  await Bun.sleep(5)
  expect(await lastSeen()).toBe(first)
  clock.advance(1)
  expect(await lastSeen()).toBe(first)
  while ((await lastSeen()) === first) await Bun.sleep(1)
  expect(Date.parse(await lastSeen()) - Date.parse(first)).toBe(5 * MINUTE_MS)
})

test('find returns null and deletes the row when a session has expired', async () => {
  const { login, isSignedIn, clock, platform } = await withAda()
  const laptop = await login('203.0.113.1', 'Laptop')
  clock.advance(MONTH_MS - 1000)
  expect(await isSignedIn(laptop)).toBe(true)
  clock.advance(1000)
  expect(await isSignedIn(laptop)).toBe(false)
  expect(countRows(platform.db).sessions).toBe(0)
})

test('no value in the database is a valid session cookie', async () => {
  const { login, platform, isSignedIn } = await withAda()
  await login('203.0.113.1', 'Laptop')
  const { sessions, users } = await import('../users/tables.ts')
  const rows = [...platform.db.select().from(sessions).all(), ...platform.db.select().from(users).all()]
  for (const value of rows.flatMap((row) => Object.values(row))) {
    expect(await isSignedIn({ cookie: `service-session=${encodeURIComponent(String(value))}` })).toBe(false)
  }
})

import { describe, expect, test } from 'bun:test'
import { settableClock } from '../../../tests/harness/clock.ts'
import { TEST_ENDPOINT } from '../../../tests/harness/documents/test-endpoint.ts'
import { testApp } from '../../../tests/harness/http.ts'
import { endpoint } from '../endpoint.ts'
import { SESSION_COOKIE } from './cookie.ts'
import { createCsrf } from './csrf.ts'

const OWN = 'https://stead.example'
const FOREIGN = 'https://evil.example'
const SIGN_IN = '/sign-in'
const SESSION = 'session-token-of-ada'
const COOKIE = `${SESSION_COOKIE}=${SESSION}`

describe('an unsafe request with the session cookie', () => {
  test.each<[name: string, headers: Record<string, string>, isLetIn: boolean]>([
    ['no browser’s headers', {}, true],
    ['own page', { 'sec-fetch-site': 'same-origin', origin: OWN }, true],
    ['own origin, a browser without Sec-Fetch-Site', { origin: OWN }, true],
    ['typed by the user', { 'sec-fetch-site': 'none' }, true],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: FOREIGN }, false],
    ['another site that names no origin', { 'sec-fetch-site': 'cross-site' }, false],
    ['a sister domain', { 'sec-fetch-site': 'same-site', origin: 'https://agents.stead.example' }, false],
    ['another site in a browser without Sec-Fetch-Site', { origin: FOREIGN }, false],
    ['a sandboxed frame', { origin: 'null' }, false],
    ['an origin that lies about being fetched from here', { 'sec-fetch-site': 'same-origin', origin: FOREIGN }, false],
    ['own host, other scheme', { origin: 'http://stead.example' }, false],
    ['own host as a prefix', { origin: 'https://stead.example.evil.example' }, false],
  ])('%s', async (_name, headers, isLetIn) => {
    const { request } = protectedApp()
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const response = await request('/', { method, headers: { cookie: COOKIE, ...headers } })
      expect(response.status).toBe(isLetIn ? 200 : 403)
      if (!isLetIn) expect(await response.json()).toEqual({ error: 'Missing CSRF token' })
    }
  })
})

test('safe methods and requests without a session are never refused', async () => {
  const { request } = protectedApp()
  const headers = { 'sec-fetch-site': 'cross-site', origin: FOREIGN }
  expect((await request('/', { headers: { ...headers, cookie: COOKIE } })).status).toBe(200)
  expect((await request('/', { method: 'HEAD', headers: { ...headers, cookie: COOKIE } })).status).toBe(200)
  expect((await request('/', { method: 'POST', headers })).status).toBe(200)
  expect((await request('/', { method: 'POST', headers: { ...headers, cookie: 'other=1' } })).status).toBe(200)
})

test('403 for a sign-in route from another site, also without a session', async () => {
  const { csrf, request } = protectedApp()
  const cross = { 'sec-fetch-site': 'cross-site', origin: FOREIGN }
  const post = async (headers: Record<string, string>) => (await request(SIGN_IN, { method: 'POST', headers })).status
  expect(await post(cross)).toBe(403)
  expect(await post({ origin: 'null' })).toBe(403)
  expect(await post({ ...cross, 'x-csrf-token': csrf.issue('').header })).toBe(403)
  expect(await post({})).toBe(200)
  expect(await post({ 'sec-fetch-site': 'same-origin', origin: OWN })).toBe(200)
  expect((await request(SIGN_IN, { headers: cross })).status).toBe(200)
})

describe('a CSRF token', () => {
  test('of the session permits requests from another site for a day', async () => {
    const { csrf, clock, send } = protectedApp()
    const { header } = csrf.issue(SESSION)
    expect(await send(header)).toBe(200)
    clock.advance(24 * 3_600_000 - 1)
    expect(await send(header)).toBe(200)
    clock.advance(1)
    expect(await send(header)).toBe(403)
  })

  test('has the documented format', () => {
    const { csrf } = protectedApp()
    const { token, signed, header } = csrf.issue(SESSION)
    expect(token).toMatch(/^[0-9a-f]{64}\.[0-9a-f]+$/)
    expect(signed).toMatch(/^[0-9a-f]{64}$/)
    expect(header).toBe(`${token}:${signed}`)
    expect(csrf.issue(SESSION).token).not.toBe(token)
  })

  test.each<[name: string, change: (issued: { token: string; signed: string; header: string }) => string]>([
    ['is missing', () => ''],
    ['has no signature', ({ token }) => token],
    ['has an empty signature', ({ token }) => `${token}:`],
    ['has no token', ({ signed }) => `:${signed}`],
    ['lives longer than it was signed for', ({ token, signed }) => `${token.split('.')[0]}.fffffffffffff:${signed}`],
    [
      'has another number',
      ({ token, signed }) => `${token.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))}:${signed}`,
    ],
    [
      'has another signature',
      ({ token, signed }) => `${token}:${signed.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))}`,
    ],
    ['is not ours at all', () => 'ÿ:ÿ'],
  ])('is refused when it %s', async (_name, change) => {
    const { csrf, send } = protectedApp()
    expect(await send(change(csrf.issue(SESSION)))).toBe(403)
  })

  test('is refused when it is of another session or another server', async () => {
    const { csrf, send } = protectedApp()
    expect(await send(csrf.issue('session-token-of-bo').header)).toBe(403)
    expect(await send(protectedApp(Buffer.alloc(32, 2)).csrf.issue(SESSION).header)).toBe(403)
  })
})

function protectedApp(key = Buffer.alloc(32, 1)) {
  const clock = settableClock()
  const csrf = createCsrf({ key, clock, isOwnOrigin: (origin) => origin === OWN })
  const { request } = testApp((app) => {
    app.use(csrf.check)
    app.all(SIGN_IN, endpoint({ ...TEST_ENDPOINT, signsIn: true }), (c) => c.text('in'))
    app.all('*', (c) => c.text('in'))
  })
  return {
    csrf,
    clock,
    request,
    /** The status of a request from another site with the session cookie and this token. */
    async send(token: string): Promise<number> {
      const headers = { cookie: COOKIE, origin: FOREIGN, 'sec-fetch-site': 'cross-site', 'x-csrf-token': token }
      return (await request('/', { method: 'POST', headers })).status
    },
  }
}

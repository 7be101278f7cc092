import { expect, test } from 'bun:test'
import { TEST_ENDPOINT } from '../../../tests/harness/documents/test-endpoint.ts'
import { testApp } from '../../../tests/harness/http.ts'
import { descriptionOf, endpoint } from '../endpoint.ts'
import type { SignedInUser } from '../env.ts'
import { SESSION_COOKIE } from './cookie.ts'
import { createGuards } from './session.ts'

const ADA = userNamed('Ada')
const BO = userNamed('Bo')
const COOKIE = `${SESSION_COOKIE}=session-of-ada`
const KEY = 'Bearer sk_key_of_bo'
const LIMITED_KEY = 'Bearer sk_limited'

const KEYS: Record<string, { user: SignedInUser; scopes: string[] }> = {
  sk_key_of_bo: { user: BO, scopes: [] },
  sk_limited: { user: BO, scopes: ['agents'] },
  sk_reading: { user: BO, scopes: ['read'] },
}

const guards = createGuards(
  {
    findUserBySession: async (token) => (token === 'session-of-ada' ? ADA : null),
    findUserByKey: (key) => KEYS[key] ?? null,
  },
  { isHttps: false },
)
const { request } = testApp((app) => {
  app.get('/signed-in', guards.signedIn, (c) => c.json(c.var.user.name))
  app.post('/signed-in', guards.signedIn, (c) => c.json(c.var.user.name))
  app.post('/agents', endpoint({ ...TEST_ENDPOINT, scope: 'agents' }), guards.signedIn, (c) => c.json(c.var.user.name))
  app.get('/token', endpoint({ ...TEST_ENDPOINT, scope: 'agents' }), guards.signedIn, (c) => c.json(c.var.user.name))
  app.get('/models', endpoint({ ...TEST_ENDPOINT, scope: 'any' }), async (c) =>
    c.json((await guards.findUser(c))?.name),
  )
  app.get('/session', guards.withSession, (c) => c.json(c.var.user.name))
  app.get('/anybody', async (c) => c.json((await guards.findUser(c))?.name ?? 'nobody'))
})

test.each<[path: string, headers: Record<string, string>, answer: string | null]>([
  ['/signed-in', { cookie: COOKIE }, 'Ada'],
  ['/signed-in', { authorization: KEY }, 'Bo'],
  ['/signed-in', { cookie: COOKIE, authorization: KEY }, 'Bo'],
  ['/signed-in', { cookie: COOKIE, authorization: 'Bearer of something else' }, 'Ada'],
  ['/signed-in', {}, null],
  ['/signed-in', { cookie: `${SESSION_COOKIE}=session-of-nobody` }, null],
  ['/signed-in', { cookie: `${SESSION_COOKIE}=` }, null],
  ['/signed-in', { authorization: 'Bearer sk_wrong' }, null],
  ['/signed-in', { cookie: COOKIE, authorization: 'Bearer sk_wrong' }, null],
  ['/session', { cookie: COOKIE }, 'Ada'],
  ['/session', { authorization: KEY }, null],
  ['/anybody', {}, 'nobody'],
  ['/anybody', { cookie: COOKIE }, 'Ada'],
])('GET %s with %j → %p', async (path, headers, answer) => {
  const response = await request(path, { headers })
  expect(response.status).toBe(answer === null ? 401 : 200)
  expect(await response.json()).toEqual(answer ?? { error: 'Unauthorized' })
})

test.each<[method: string, path: string, key: string, missing: string | null | undefined]>([
  ['GET', '/signed-in', 'Bearer sk_reading', undefined],
  ['GET', '/signed-in', LIMITED_KEY, 'read'],
  ['POST', '/signed-in', 'Bearer sk_reading', null],
  ['POST', '/signed-in', LIMITED_KEY, null],
  ['POST', '/signed-in', KEY, undefined],
  ['POST', '/agents', LIMITED_KEY, undefined],
  ['POST', '/agents', 'Bearer sk_reading', 'agents'],
  ['GET', '/token', LIMITED_KEY, undefined],
  ['HEAD', '/token', 'Bearer sk_reading', 'agents'],
  ['GET', '/models', LIMITED_KEY, undefined],
  ['GET', '/anybody', LIMITED_KEY, 'read'],
])('%s %s with %s: 403 with the scope %p when it is missing', async (method, path, authorization, missing) => {
  const response = await request(path, { method, headers: { authorization } })
  expect(response.status).toBe(missing === undefined ? 200 : 403)
  if (missing !== undefined && method !== 'HEAD') {
    expect(await response.json()).toMatchObject({ code: 'SCOPE_REQUIRED', scope: missing })
  }
})

test('the guards have the names that tests/endpoints.txt lists', () => {
  expect([descriptionOf(guards.signedIn).guard, descriptionOf(guards.withSession).guard]).toEqual([
    'signed-in',
    'session',
  ])
})

function userNamed(name: string): SignedInUser {
  return { id: name, email: `${name}@example.com`, name, isAdmin: false, plan: 'free', subscriptionId: null }
}

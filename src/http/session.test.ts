import { expect, test } from 'bun:test'
import { testApp } from '../../tests/harness/http.ts'
import type { SignedInUser } from './env.ts'
import { guardName } from './guard-label.ts'
import { createGuards } from './session.ts'
import { SESSION_COOKIE } from './session-cookie.ts'

const ADA = userNamed('Ada')
const BO = userNamed('Bo')
const COOKIE = `${SESSION_COOKIE}=session-of-ada`
const KEY = 'Bearer sk_key_of_bo'

const guards = createGuards(
  {
    findUserBySession: async (token) => (token === 'session-of-ada' ? ADA : null),
    findUserByKey: (key) => (key === 'sk_key_of_bo' ? { user: BO, scopes: [] } : null),
  },
  { isHttps: false },
)
const { request } = testApp((app) => {
  app.get('/signed-in', guards.signedIn, (c) => c.json(c.var.user.name))
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

test('the guards carry the names that tests/endpoints.txt shows', () => {
  expect([guardName(guards.signedIn), guardName(guards.withSession)]).toEqual(['signed-in', 'session'])
})

function userNamed(name: string): SignedInUser {
  return { id: name, email: `${name}@example.com`, name, isAdmin: false, plan: 'free', subscriptionId: null }
}

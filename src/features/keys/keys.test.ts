import { expect, test } from 'bun:test'
import { bearer, json, read, testPlatform } from '../../../tests/harness/platform.ts'
import { sha256 } from '../../core/secrets.ts'
import { write } from '../../db/write.ts'
import { CreatedKey, Key } from './schemas.ts'
import { apiKeys } from './tables.ts'

const KEY_FORM = /^sk_[0-9A-Za-z]{43}$/

test('POST /api/keys: 201 with the raw key, which GET /api/keys never shows again', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const response = await web.request('/api/keys', json('POST', { name: 'laptop' }, cookie))
  expect(response.status).toBe(201)
  const created = await read(CreatedKey, response)
  expect(created).toEqual({
    id: expect.any(String),
    name: 'laptop',
    key: expect.stringMatching(KEY_FORM),
    createdAt: expect.any(String),
  })

  const list = await (await web.request('/api/keys', { headers: cookie })).json()
  const shown = {
    id: created.id,
    name: 'laptop',
    keyPreview: `${created.key.slice(0, 10)}...`,
    createdAt: created.createdAt,
    lastUsed: null,
  }
  expect(list).toEqual({ keys: [shown] })
})

test.each([
  [{}, 'Name required'],
  [{ name: '' }, 'Name required'],
  [{ name: '   ' }, 'Name required'],
  [{ name: 7 }, 'Name required'],
  [{ name: 'x'.repeat(65) }, 'Name too long (max 64 chars)'],
])('POST /api/keys: 400 for %j, and nothing is stored', async (body, error) => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const response = await web.request('/api/keys', json('POST', body, cookie))
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
  expect(await (await web.request('/api/keys', { headers: cookie })).json()).toEqual({ keys: [] })
})

test('POST /api/keys: 429 at the 26th key', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  for (let count = 0; count < 25; count++)
    await web.request('/api/keys', json('POST', { name: `key ${count}` }, cookie))
  const response = await web.request('/api/keys', json('POST', { name: 'one more' }, cookie))
  expect(response.status).toBe(429)
})

test('DELETE /api/keys/:id: 200 for the owner, and the key stops working at once', async () => {
  const { web, backend, signIn } = testPlatform()
  const { cookie } = await signIn()
  const { id, key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  const deleted = await web.request(`/api/keys/${id}`, { method: 'DELETE', headers: cookie })
  expect(await deleted.json()).toEqual({ success: true })
  const check = await backend.request('/api/validate-key', { method: 'POST', headers: bearer(key) })
  expect(check.status).toBe(401)
})

test.each(['GET', 'DELETE'])(
  '%s /api/keys/:id: 404 for a stranger and for a missing id, and the key stays',
  async (method) => {
    const { web, signIn } = testPlatform()
    const ada = await signIn('ada@example.com')
    const eve = await signIn('eve@example.com')
    const { id } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, ada.cookie)))
    for (const path of [`/api/keys/${id}`, '/api/keys/key_missing']) {
      const response = await web.request(path, { method, headers: eve.cookie })
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({ error: 'Key not found' })
    }
    expect((await web.request(`/api/keys/${id}`, { headers: ada.cookie })).status).toBe(200)
  },
)

test.each([
  ['GET', '/api/keys'],
  ['POST', '/api/keys'],
  ['GET', '/api/keys/key_1'],
  ['DELETE', '/api/keys/key_1'],
])('%s %s: 401 without a session, and an sk_ key is none here', async (method, path) => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  for (const headers of [{}, bearer(key), { cookie: 'service-session=made-up' }]) {
    const response = await web.request(path, { method, headers })
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({ error: 'Unauthorized' })
  }
})

test('POST /api/validate-key: 200 tells whose key it is, and the use is noted once a minute', async () => {
  const { web, backend, signIn, clock } = testPlatform()
  const { user, cookie } = await signIn('ada@example.com', 'solo')
  const { id, key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  const check = () => backend.request('/api/validate-key', { method: 'POST', headers: bearer(key) })
  const response = await check()
  expect(await response.json()).toEqual({
    valid: true,
    userId: user.id,
    plan: 'solo',
    features: ['dashboard', 'marketplace', 'analytics'],
  })

  const lastUsed = async () => (await read(Key, web.request(`/api/keys/${id}`, { headers: cookie }))).lastUsed ?? ''
  while ((await lastUsed()) === '') await Bun.sleep(1)
  const first = await lastUsed()
  clock.advance(59_000)
  await check()
  clock.advance(1000)
  await check()
  while ((await lastUsed()) === first) await Bun.sleep(1)
  expect(Date.parse(await lastUsed()) - Date.parse(first)).toBe(60_000)
})

test.each([
  [undefined, 'Missing API key'],
  ['Basic abc', 'Missing API key'],
  ['Bearer sk_doesnotexist', 'Invalid API key'],
])('POST /api/validate-key: 401 for Authorization %s', async (authorization, error) => {
  const { backend } = testPlatform()
  const response = await backend.request('/api/validate-key', {
    method: 'POST',
    headers: authorization ? { authorization } : {},
  })
  expect(response.status).toBe(401)
  expect(await response.json()).toEqual({ error, valid: false })
})

test('POST /api/keys/validate: 200 with plan and subscription', async () => {
  const { web, signIn } = testPlatform()
  const { user, cookie } = await signIn('ada@example.com', 'label')
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  const response = await web.request('/api/keys/validate', json('POST', { apiKey: key }))
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    valid: true,
    userId: user.id,
    email: 'ada@example.com',
    plan: 'label',
    subscriptionStatus: 'active',
    features: ['dashboard', 'marketplace', 'analytics'],
  })
})

test.each([
  [{}, 400, 'apiKey required'],
  [{ apiKey: 5 }, 400, 'apiKey required'],
  [{ apiKey: 'pk_something' }, 401, 'Invalid API key'],
  [{ apiKey: 'sk_something' }, 401, 'Invalid API key'],
])('POST /api/keys/validate: %j gets %d', async (body, status, error) => {
  const { web } = testPlatform()
  const response = await web.request('/api/keys/validate', json('POST', body))
  expect(response.status).toBe(status)
  expect(await response.json()).toMatchObject({ error })
})

test('POST /api/keys/validate: 404 when planned endpoints are off', async () => {
  const { web } = testPlatform({ environment: { PLANNED_ENDPOINTS: 'false' } })
  expect((await web.request('/api/keys/validate', json('POST', { apiKey: 'sk_x' }))).status).toBe(404)
})

test('POST /api/validate-key: two keys with the same first ten characters each find their own owner', async () => {
  const { platform, backend, signIn, clock } = testPlatform()
  const users = [(await signIn('ada@example.com')).user, (await signIn('eve@example.com')).user]
  const keyOf = (index: number) => `sk_samehead_and_tail_${index}`
  await write(platform.db, (tx) => {
    for (const [index, user] of users.entries()) {
      const key = keyOf(index)
      const row = { id: `key_${index}`, userId: user.id, name: 'k', prefix: key.slice(0, 10), hash: sha256(key) }
      tx.insert(apiKeys)
        .values({ ...row, createdAt: clock.now() })
        .run()
    }
  })
  for (const [index, user] of users.entries()) {
    const response = await backend.request('/api/validate-key', { method: 'POST', headers: bearer(keyOf(index)) })
    expect(await response.json()).toMatchObject({ valid: true, userId: user.id })
  }
})

import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { sha256 } from '../../../core/secrets.ts'
import { write } from '../../../db/write.ts'
import { CreatedKey, Key, RotatedKey } from './schemas.ts'
import { apiKeys } from './tables.ts'

const KEY_FORM = /^sk_[0-9A-Za-z]{43}$/

test('POST /api/keys: 201 with the raw key, which GET /api/keys never returns', async () => {
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
    expiresAt: null,
    scopes: [],
    disabled: false,
    logBodies: false,
    limits: {
      monthlyBudgetUsd: null,
      monthlyTokens: null,
      models: null,
      requestsPerMinute: null,
      endUserBudgetUsd: null,
    },
    allowedCidrs: [],
    budgetIncrease: null,
    guardrails: null,
    cacheSeconds: null,
  }
  expect(list).toEqual({ keys: [shown] })
})

test.each([
  [{}, 'Name required'],
  [{ name: '' }, 'Name required'],
  [{ name: '   ' }, 'Name required'],
  [{ name: 7 }, 'Name required'],
  [{ name: 'x'.repeat(65) }, 'Name too long (max 64 chars)'],
  [{ name: 'a', expiresInDays: 0 }, 'expiresInDays must be a whole number from 1 to 3650'],
  [{ name: 'a', expiresInDays: 1.5 }, 'expiresInDays must be a whole number from 1 to 3650'],
  [{ name: 'a', expiresInDays: '7' }, 'expiresInDays must be a whole number from 1 to 3650'],
  [{ name: 'a', expiresAt: 'tomorrow' }, 'expiresAt must be an ISO 8601 time'],
  [{ name: 'a', expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt must be in the future'],
  [{ name: 'a', expiresInDays: 1, expiresAt: '2099-01-01T00:00:00Z' }, 'Give expiresInDays or expiresAt, not both'],
  [{ name: 'a', scopes: ['everything'] }, 'scopes must be a list of read, agents, models, payments'],
  [{ name: 'a', scopes: 'read' }, 'scopes must be a list of read, agents, models, payments'],
])('POST /api/keys: 400 when the body is %j, and nothing is stored', async (body, error) => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const response = await web.request('/api/keys', json('POST', body, cookie))
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
  expect(await (await web.request('/api/keys', { headers: cookie })).json()).toEqual({ keys: [] })
})

test('POST /api/keys: 429 when the account has 25 keys', async () => {
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
  ['PATCH', '/api/keys/key_1'],
  ['POST', '/api/keys/key_1/rotate'],
])('%s %s: 401 without a session, also with an sk_ key', async (method, path) => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const { key } = await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  for (const headers of [{}, bearer(key), { cookie: 'service-session=made-up' }]) {
    const response = await web.request(path, { method, headers })
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({ error: 'Unauthorized' })
  }
})

test('POST /api/validate-key: 200 with the owner of the key; its use is recorded once a minute', async () => {
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
])('POST /api/validate-key: 401 when Authorization is %s', async (authorization, error) => {
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
])('POST /api/keys/validate: when the body is %j, %d', async (body, status, error) => {
  const { web } = testPlatform()
  const response = await web.request('/api/keys/validate', json('POST', body))
  expect(response.status).toBe(status)
  expect(await response.json()).toMatchObject({ error })
})

test('POST /api/keys/validate: 404 when planned endpoints are off', async () => {
  const { web } = testPlatform({ environment: { PLANNED_ENDPOINTS: 'false' } })
  expect((await web.request('/api/keys/validate', json('POST', { apiKey: 'sk_x' }))).status).toBe(404)
})

test('POST /api/validate-key: 200 with the right owner when two keys have the same first ten characters', async () => {
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

/** A signed-in owner with one key, and whether the key still works on both APIs. */
async function ownerWithKey(request: Record<string, unknown> = {}) {
  const test = testPlatform()
  const { user, cookie } = await test.signIn('ada@example.com', 'solo')
  const created = await read(
    CreatedKey,
    test.web.request('/api/keys', json('POST', { name: 'laptop', ...request }, cookie)),
  )
  return {
    ...test,
    user,
    cookie,
    ...created,
    shown: (id = created.id) => read(Key, test.web.request(`/api/keys/${id}`, { headers: cookie })),
    change: (body: unknown, id = created.id) => test.web.request(`/api/keys/${id}`, json('PATCH', body, cookie)),
    rotate: (body: unknown, id = created.id) => test.web.request(`/api/keys/${id}/rotate`, json('POST', body, cookie)),
    /** 200 or 401, the same everywhere. */
    async works(key = created.key) {
      const statuses = await Promise.all([
        test.backend.request('/api/validate-key', { method: 'POST', headers: bearer(key) }),
        test.web.request('/api/keys/validate', json('POST', { apiKey: key })),
        test.web.request('/api/chat?agentId=x', { headers: bearer(key) }),
      ])
      const [first, second, third] = statuses.map(({ status }) => status)
      expect([first === 200, second === 200, third !== 401]).toEqual(Array(3).fill(first === 200))
      return first === 200
    },
  }
}

test.each([
  ['expiresInDays', { expiresInDays: 1 }, 86_400_000],
  ['expiresAt', { expiresAt: new Date(Date.now() + 3_600_000).toISOString() }, 3_600_000],
])('POST /api/keys: 201 with %s, after which the key is refused', async (_name, request, ms) => {
  const owner = await ownerWithKey(request)
  expect(Date.parse((await owner.shown()).expiresAt ?? '')).toBeGreaterThan(owner.clock.now().getTime())
  owner.clock.advance(ms - 60_000)
  expect(await owner.works()).toBe(true)
  owner.clock.advance(60_000)
  expect(await owner.works()).toBe(false)
})

test('POST /api/keys: 201 with a raw key of which the database has only a hash', async () => {
  const owner = await ownerWithKey({ scopes: ['read'] })
  const rotated = await read(RotatedKey, owner.rotate({ overlapHours: 1 }))
  const dump = dumpTables(owner.platform.db)
  for (const key of [owner.key, rotated.key]) {
    expect(dump).not.toContain(key.slice(10))
    expect(dump).toContain(sha256(key))
  }
})

test('POST /api/keys: 201 at the limit when a key has expired', async () => {
  const { web, signIn, clock } = testPlatform()
  const { cookie } = await signIn()
  const create = (body: object) => web.request('/api/keys', json('POST', { name: 'k', ...body }, cookie))
  for (let count = 0; count < 25; count++) await create(count === 0 ? { expiresInDays: 1 } : {})
  expect((await create({})).status).toBe(429)
  clock.advance(86_400_000)
  expect((await create({})).status).toBe(201)
  expect((await create({})).status).toBe(429)
})

test('PATCH /api/keys/:id: 200 when the key is renamed, disabled at once or enabled again', async () => {
  const owner = await ownerWithKey()
  const disabled = await read(Key, owner.change({ name: 'desk', disabled: true }))
  expect(disabled).toMatchObject({ id: owner.id, name: 'desk', disabled: true })
  expect(await owner.works()).toBe(false)
  expect(await read(Key, owner.change({ disabled: false }))).toMatchObject({ name: 'desk', disabled: false })
  expect(await owner.works()).toBe(true)
})

test('PATCH /api/keys/:id: 200 when body logging and a limit of end users are set, which a rotated key keeps', async () => {
  const owner = await ownerWithKey()
  const changed = await read(Key, owner.change({ logBodies: true, endUserBudgetUsd: 2.5 }))
  expect(changed).toMatchObject({ logBodies: true, limits: { endUserBudgetUsd: 2.5 }, scopes: ['models'] })
  const { id } = await read(RotatedKey, owner.rotate({}))
  const kept = { logBodies: true, limits: { endUserBudgetUsd: 2.5 } }
  expect(await (await owner.web.request(`/api/keys/${id}`, { headers: owner.cookie })).json()).toMatchObject(kept)
  const off = await read(Key, owner.web.request(`/api/keys/${id}`, json('PATCH', OFF, owner.cookie)))
  expect(off).toMatchObject({ logBodies: false, limits: { endUserBudgetUsd: null }, scopes: [] })
})

const OFF = { logBodies: false, endUserBudgetUsd: null }

test.each([
  [{}, 'Nothing to change'],
  [{ logBodies: 'yes' }, 'logBodies must be true or false'],
  [{ endUserBudgetUsd: 0 }, 'endUserBudgetUsd must be a number of at least 0.01'],
  [{ hash: 'x', userId: 'y' }, 'Nothing to change'],
  [{ name: '' }, 'Name required'],
  [{ disabled: 'yes' }, 'disabled must be true or false'],
])('PATCH /api/keys/:id: 400 when the body is %j', async (body, error) => {
  const owner = await ownerWithKey()
  const response = await owner.change(body)
  expect([response.status, await response.json()]).toEqual([400, { error }])
})

test('POST /api/keys/:id/rotate: 201 with a new key; the old one works until the overlap ends', async () => {
  const owner = await ownerWithKey({ scopes: ['read', 'ai'], expiresInDays: 30 })
  owner.clock.advance(10 * 86_400_000)
  const response = await owner.rotate({ overlapHours: 2 })
  expect(response.status).toBe(201)
  const rotated = await read(RotatedKey, response)
  expect(rotated).toEqual({
    id: expect.any(String),
    name: 'laptop',
    key: expect.stringMatching(KEY_FORM),
    createdAt: owner.clock.now().toISOString(),
    expiresAt: new Date(owner.clock.now().getTime() + 30 * 86_400_000).toISOString(),
    scopes: ['read', 'ai'],
    replaces: { id: owner.id, expiresAt: new Date(owner.clock.now().getTime() + 2 * 3_600_000).toISOString() },
  })
  owner.clock.advance(2 * 3_600_000 - 1)
  expect([await owner.works(), await owner.works(rotated.key)]).toEqual([true, true])
  owner.clock.advance(1)
  expect([await owner.works(), await owner.works(rotated.key)]).toEqual([false, true])
})

test('POST /api/keys/:id/rotate: 201 and the old key is deleted at once when there is no overlap', async () => {
  const owner = await ownerWithKey()
  const rotated = await read(RotatedKey, owner.rotate({}))
  expect(rotated.replaces).toEqual({ id: owner.id, expiresAt: null })
  expect([await owner.works(), await owner.works(rotated.key)]).toEqual([false, true])
  expect((await owner.rotate({})).status).toBe(404)
})

test('POST /api/keys/:id/rotate: 201 without prolonging the old key when it expires before the overlap ends', async () => {
  const owner = await ownerWithKey({ expiresAt: new Date(Date.now() + 3_600_000).toISOString() })
  const { expiresAt } = await owner.shown()
  expect((await read(RotatedKey, owner.rotate({ overlapHours: 168 }))).replaces.expiresAt).toBe(expiresAt)
})

test('POST /api/keys/:id/rotate: 400 above 168 hours, 409 when the key is disabled, 429 at 26 keys', async () => {
  const owner = await ownerWithKey()
  expect((await owner.rotate({ overlapHours: 169 })).status).toBe(400)
  for (let count = 1; count < 25; count++)
    await owner.web.request('/api/keys', json('POST', { name: 'k' }, owner.cookie))
  expect((await owner.rotate({ overlapHours: 1 })).status).toBe(201)
  expect((await owner.rotate({ overlapHours: 1 })).status).toBe(429)
  await owner.change({ disabled: true })
  expect((await owner.rotate({})).status).toBe(409)
})

test.each([
  ['PATCH', ''],
  ['POST', '/rotate'],
] as const)('%s /api/keys/:id%s: 404 for a stranger, and the key stays valid', async (method, suffix) => {
  const owner = await ownerWithKey()
  const eve = await owner.signIn('eve@example.com')
  const body = method === 'PATCH' ? { disabled: true } : {}
  const response = await owner.web.request(`/api/keys/${owner.id}${suffix}`, json(method, body, eve.cookie))
  expect([response.status, await response.json()]).toEqual([404, { error: 'Key not found' }])
  expect(await owner.works()).toBe(true)
})

/** A token's path as a client writes it, and as one writes it who hopes that only the router reads escapes. */
const TOKEN_PATHS = [
  '/api/agents/agt-1/token',
  '/api/agents/agt-1/%74oken',
  '/api/agents/agt-1/tok%65n',
  '/api/%61gents/agt-1/token',
  '/api/instance/agt-1/token',
  '/api/instance/agt-1/%74oken',
]

const SCOPED: [scopes: string[], method: 'GET' | 'POST', path: string, api: 'web' | 'backend', isAllowed: boolean][] = [
  [[], 'POST', '/api/agents/provision', 'web', true],
  [['read'], 'GET', '/api/agents', 'web', true],
  [['read'], 'GET', '/api/dashboard/cost', 'web', true],
  [['read'], 'POST', '/api/agents/provision', 'web', false],
  [['read'], 'POST', '/api/chat', 'web', false],
  [['read'], 'POST', '/api/ai/chat', 'backend', false],
  [['read'], 'POST', '/v1/chat/completions', 'backend', false],
  [['read'], 'GET', '/v1/models', 'backend', false],
  [['agents'], 'POST', '/api/agents/provision', 'web', true],
  [['agents'], 'POST', '/api/chat', 'web', true],
  [['agents'], 'GET', '/api/agents', 'web', false],
  [['agents'], 'POST', '/v1/chat/completions', 'backend', false],
  [['ai'], 'POST', '/v1/chat/completions', 'backend', true],
  [['ai'], 'GET', '/v1/models', 'backend', true],
  [['ai'], 'POST', '/api/ai/chat', 'backend', true],
  [['ai'], 'POST', '/api/chat', 'web', false],
  [['models'], 'POST', '/v1/chat/completions', 'backend', true],
  [['models'], 'GET', '/v1/models', 'backend', true],
  [['models'], 'POST', '/api/ai/chat', 'backend', true],
  [['models'], 'POST', '/api/chat', 'web', false],
  [['models'], 'GET', '/api/agents', 'web', false],
  [['agents'], 'GET', '/api/agents/agt-1/token', 'web', true],
  [['agents'], 'GET', '/api/instance/agt-1/token', 'web', true],
  ...TOKEN_PATHS.map((path): (typeof SCOPED)[number] => [['read'], 'GET', path, 'web', false]),
  [['payments'], 'POST', '/api/agents/provision', 'web', false],
  [['read', 'agents'], 'GET', '/api/agents', 'web', true],
]

test.each(SCOPED)('a key with the scopes %j: %s %s (%s) allowed: %p', async (scopes, method, path, api, isAllowed) => {
  const owner = await ownerWithKey({ scopes })
  const init = method === 'GET' ? { headers: bearer(owner.key) } : json(method, {}, bearer(owner.key))
  const response = await owner[api].request(path, init)
  const body = await response.text()
  expect(body.includes('SCOPE_REQUIRED')).toBe(!isAllowed)
  if (!isAllowed) expect(response.status).toBe(403)
})

test('a key with scopes: 403 with the missing scope when the scope is missing', async () => {
  const owner = await ownerWithKey({ scopes: ['read'] })
  const response = await owner.web.request('/api/chat', json('POST', {}, bearer(owner.key)))
  expect(response.status).toBe(403)
  expect(await response.json()).toEqual({
    error: 'This key is not allowed to do that: it takes the scope agents',
    code: 'SCOPE_REQUIRED',
    scope: 'agents',
  })
})

const SPENDING = [{ monthlyBudgetUsd: 1 }, { monthlyTokens: 1000 }, { models: ['openai/gpt-4o'] }]

test.each(SPENDING)('POST /api/keys: 201 with the scope models alone when the key has %j', async (limits) => {
  for (const scopes of [undefined, [], ['models'], ['ai']]) {
    const owner = await ownerWithKey({ ...limits, scopes })
    expect((await owner.shown()).scopes).toEqual(scopes?.length ? scopes : ['models'])
    const chat = await owner.backend.request('/v1/chat/completions', json('POST', {}, bearer(owner.key)))
    expect(await chat.text()).not.toContain('SCOPE_REQUIRED')
    for (const [path, init] of [
      ['/api/agents', { headers: bearer(owner.key) }],
      ['/api/chat', json('POST', {}, bearer(owner.key))],
      ['/api/agents/agt-1/token', { headers: bearer(owner.key) }],
      ['/api/settings', json('POST', {}, bearer(owner.key))],
    ] as const) {
      const refused = await owner.web.request(path, init)
      expect([refused.status, await refused.json()]).toEqual([403, expect.objectContaining({ code: 'SCOPE_REQUIRED' })])
    }
  }
})

const MORE = [['read'], ['agents'], ['models', 'agents'], ['ai', 'read'], ['payments']]

test.each(SPENDING)(
  'POST and PATCH /api/keys: 400 when %j is set for a key with further scopes, and nothing changes',
  async (limits) => {
    const error = 'A key with limits of money, tokens or models has the scope models only'
    for (const scopes of MORE) {
      const owner = await ownerWithKey({ scopes })
      const made = await owner.web.request('/api/keys', json('POST', { name: 'x', scopes, ...limits }, owner.cookie))
      const changed = await owner.change({ name: 'other', ...limits })
      for (const response of [made, changed]) expect([response.status, await response.json()]).toEqual([400, { error }])
      expect(await owner.shown()).toMatchObject({ name: 'laptop', scopes, limits: { monthlyBudgetUsd: null } })
      expect(await (await owner.web.request('/api/keys', { headers: owner.cookie })).json()).toMatchObject({
        keys: [{ id: owner.id }],
      })
    }
  },
)

test('PATCH /api/keys/:id: 200 with the scope models when a limit is set for a key without scopes, until it is removed', async () => {
  const owner = await ownerWithKey()
  const list = () => owner.web.request('/api/agents', { headers: bearer(owner.key) })
  expect((await list()).status).toBe(200)
  expect((await read(Key, owner.change({ monthlyTokens: 1000 }))).scopes).toEqual(['models'])
  expect((await list()).status).toBe(403)
  const rotated = await read(RotatedKey, owner.rotate({ overlapHours: 1 }))
  expect(rotated.scopes).toEqual(['models'])
  expect((await owner.web.request('/api/agents', { headers: bearer(rotated.key) })).status).toBe(403)
  expect((await read(Key, owner.change({ monthlyTokens: null }))).scopes).toEqual([])
  expect((await list()).status).toBe(200)
})

test('a stored key with limits and further scopes: 200 for models if it had that scope, 403 otherwise', async () => {
  const owner = await ownerWithKey()
  const store = (scopes: string[]) =>
    write(owner.platform.db, (tx) => tx.update(apiKeys).set({ scopes, tokensPerMonth: 1000 }).run())
  for (const [scopes, mayAsk] of [
    [['agents', 'read'], false],
    [['agents', 'ai'], true],
  ] as const) {
    await store([...scopes])
    expect((await owner.web.request('/api/chat', json('POST', {}, bearer(owner.key)))).status).toBe(403)
    expect((await owner.web.request('/api/agents', { headers: bearer(owner.key) })).status).toBe(403)
    const asked = await owner.backend.request('/v1/models', { headers: bearer(owner.key) })
    expect(asked.status).toBe(mayAsk ? 200 : 403)
  }
})

test('POST /api/keys: 201 with unchanged scopes when only a rate is set', async () => {
  const owner = await ownerWithKey({ requestsPerMinute: 5, scopes: ['read'] })
  expect((await owner.shown()).scopes).toEqual(['read'])
})

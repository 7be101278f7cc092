import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent, openTokens } from '../../agents/registry/agents.ts'
import { AgentMemory, Memory } from './schemas.ts'
import { agentMemory } from './tables.ts'

/** Creates Ada without a plan, her agent and its token. */
async function openTestInstallation(environment: Record<string, string> = {}) {
  const test = testPlatform({ environment })
  const { cookie, user } = await test.signIn()
  const { platform, clock } = test
  const add = async (ownerId: string | null) => {
    const kind = { name: 'Bo', model: 'm', plan: 'label', aiProvider: 'openrouter', status: 'running' } as const
    const agent = await write(platform.db, (tx) =>
      insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId }),
    )
    return { id: agent.id, headers: bearer(openTokens(platform.sealer, agent).accessToken) }
  }
  const agent = await add(user.id)
  const ask = (path: string, init: RequestInit = {}, headers = agent.headers) =>
    test.backend.request(path, { ...init, headers: { ...init.headers, ...headers } })
  return {
    ...test,
    user,
    agent,
    add,
    ask,
    remember: (key: string, memory: unknown, headers = agent.headers) =>
      ask('/v1/memory', json('POST', { key, memory }), headers),
    facts: async (headers = agent.headers) => (await read(AgentMemory, ask('/v1/memory', {}, headers))).facts,
    /** Returns the owner's view. */
    seen: async () =>
      (await read(Memory, test.web.request(`/api/memory?agentId=${agent.id}`, { headers: cookie }))).memory,
    save: (body: object) => test.web.request('/api/memory', json('POST', { agentId: agent.id, ...body }, cookie)),
    forget: (key: string) =>
      test.web.request(`/api/memory?agentId=${agent.id}&key=${key}`, { method: 'DELETE', headers: cookie }),
    rows: () => platform.db.select().from(agentMemory).all(),
  }
}

test('/v1/memory and /api/memory: each returns at once what the other stored, changed and deleted', async () => {
  const { remember, facts, seen, save, forget, ask, clock } = await openTestInstallation()
  const saved = clock.now().toISOString()
  expect(await (await remember('drinks', 'tea')).json()).toEqual({ key: 'drinks', saved })
  expect(await seen()).toEqual({ drinks: 'tea' })
  clock.advance(1000)
  await save({ key: 'pets', memory: { cat: 'Bo' } })
  const nowhere = { session: null, page: null }
  const now = clock.now().toISOString()
  expect(await facts()).toEqual([
    { key: 'drinks', text: 'tea', isWhole: true, source: 'agent', ...nowhere, createdAt: saved, updatedAt: saved },
    { key: 'pets', text: '{"cat":"Bo"}', isWhole: true, source: 'user', ...nowhere, createdAt: now, updatedAt: now },
  ])
  await save({ key: 'drinks', memory: 'coffee' })
  expect(await facts()).toMatchObject([{ key: 'drinks', text: 'coffee', source: 'user' }, { key: 'pets' }])
  await remember('pets', 'none')
  expect(await seen()).toEqual({ drinks: 'coffee', pets: 'none' })
  expect((await forget('pets')).status).toBe(200)
  expect((await facts()).map(({ key }) => key)).toEqual(['drinks'])
  const forgotten = await ask('/v1/memory?key=drinks', { method: 'DELETE' })
  expect(await forgotten.json()).toEqual({ key: 'drinks', deleted: true })
  expect(await seen()).toEqual({})
})

test('GET /v1/memory: 200 with the beginning of a long value, and all of it by its key; 404 when the key is missing', async () => {
  const { save, facts, ask } = await openTestInstallation()
  const long = `${'x'.repeat(499)}😀 and the rest`
  await save({ memory: { long, list: ['a'.repeat(600)] } })
  expect(await facts()).toMatchObject([
    { key: 'list', text: `["${'a'.repeat(498)}`, isWhole: false },
    { key: 'long', text: `${'x'.repeat(499)}\ufffd`, isWhole: false },
  ])
  expect(await (await ask('/v1/memory?key=long')).json()).toEqual({ key: 'long', text: long })
  const missing = await ask('/v1/memory?key=short')
  expect([missing.status, await missing.json()]).toEqual([404, { error: 'Memory key not found' }])
})

test('DELETE /v1/memory: 200 for everything only with all=true, 404 when the key is unknown, 400 without one', async () => {
  const { remember, ask, rows } = await openTestInstallation()
  await remember('a', '1')
  await remember('b', '2')
  const remove = async (query: string) => {
    const response = await ask(`/v1/memory${query}`, { method: 'DELETE' })
    return [response.status, await response.json()]
  }
  expect(await remove('?key=c')).toEqual([404, { error: 'Memory key not found' }])
  expect(await remove('')).toEqual([400, { error: 'key or all=true required' }])
  expect(rows()).toHaveLength(2)
  expect(await remove('?all=true')).toEqual([200, { key: null, deleted: true }])
  expect(rows()).toEqual([])
})

test.each<[unknown, string]>([
  [{ memory: 'x' }, 'key required'],
  [{ key: '', memory: 'x' }, 'key required'],
  [{ key: 'k'.repeat(201), memory: 'x' }, 'key must be at most 200 characters'],
  [{ key: 'a', memory: 7 }, 'memory must be text'],
  [{ key: 'a', memory: 'x'.repeat(102_399) }, 'Memory value too large (max 100KB)'],
])('POST /v1/memory: 400 when the body is %j, and nothing is stored', async (body, error) => {
  const { ask, rows } = await openTestInstallation()
  const response = await ask('/v1/memory', json('POST', body))
  expect([response.status, await response.json()]).toEqual([400, { error }])
  expect(rows()).toEqual([])
})

test('POST /v1/memory: 200 for at most 100 keys, also when concurrent, besides those of the owner', async () => {
  const { remember, save, rows } = await openTestInstallation()
  for (let index = 0; index < 99; index++) await remember(`fact${index}`, 'x')
  const rivals = await Promise.all(Array.from({ length: 20 }, (_, index) => remember(`rival${index}`, 'x')))
  expect(rivals.filter(({ status }) => status === 200)).toHaveLength(1)
  const refused = await remember('another', 'x')
  expect([refused.status, await refused.json()]).toEqual([400, { error: 'Too many memory keys (max 100)' }])
  expect((await remember('fact0', 'changed')).status).toBe(200)
  const own = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`own${index}`, index]))
  expect((await save({ memory: own })).status).toBe(200)
  expect((await save({ key: 'own50', memory: 1 })).status).toBe(400)
  expect(rows()).toHaveLength(150)
})

test('POST /v1/memory: 200 stores the later value when two requests write one key', async () => {
  const { remember, save, seen } = await openTestInstallation()
  await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      index % 2 ? remember('name', `agent ${index}`) : save({ key: 'name', memory: `user ${index}` }),
    ),
  )
  await save({ key: 'name', memory: 'last' })
  expect(await seen()).toEqual({ name: 'last' })
})

test('POST /v1/memory/import: 200 stores new facts with their dates, and changes nothing the second time', async () => {
  const { ask, save, seen, rows, agent } = await openTestInstallation()
  await save({ key: 'fact-2', memory: 'mine' })
  const facts = [
    { key: 'fact-1', text: 'likes tea', at: '2026-01-01T00:00:00.000Z' },
    { key: 'fact-2', text: 'likes coffee', at: '2026-01-02T00:00:00.000Z' },
  ]
  const send = async () => (await ask('/v1/memory/import', json('POST', { facts }))).json()
  expect([await send(), await send()]).toEqual([{ imported: 1 }, { imported: 0 }])
  expect(await seen()).toEqual({ 'fact-1': 'likes tea', 'fact-2': 'mine' })
  expect(rows().find(({ key }) => key === 'fact-1')).toMatchObject({
    agentId: agent.id,
    key: 'fact-1',
    value: '"likes tea"',
    source: 'agent',
    updatedAt: new Date('2026-01-01T00:00:00.000Z'),
  })
})

test('POST /v1/memory/import: 200 beyond the limit of keys once, 400 the second time', async () => {
  const { ask, remember, rows } = await openTestInstallation()
  for (let index = 0; index < 60; index++) await remember(`now${index}`, 'x')
  const send = (from: number) => {
    const facts = Array.from({ length: 100 }, (_, index) => ({ key: `fact-${from + index}`, text: 'x' }))
    return ask('/v1/memory/import', json('POST', { facts }))
  }
  expect((await send(0)).status).toBe(200)
  expect(rows()).toHaveLength(160)
  expect((await send(100)).status).toBe(400)
  expect(rows()).toHaveLength(160)
})

test('/v1/memory: 401 without an agent’s token, which gives access to its own memory only', async () => {
  const { ask, add, user, facts, remember, signIn } = await openTestInstallation()
  const others = [{}, bearer('agt_wrong'), bearer(INTERNAL_KEY), bearer(`sk_${'a'.repeat(43)}`)]
  const calls: [string, RequestInit][] = [
    ['/v1/memory', {}],
    ['/v1/memory', json('POST', { key: 'a', memory: 'x' })],
    ['/v1/memory/import', json('POST', { facts: [] })],
    ['/v1/memory?all=true', { method: 'DELETE' }],
  ]
  for (const headers of others)
    for (const [path, init] of calls) expect((await ask(path, init, headers)).status).toBe(401)
  await remember('secret', 'mine')
  const eve = await signIn('eve@example.com')
  for (const ownerId of [user.id, eve.user.id, null]) {
    const other = await add(ownerId)
    expect(await facts(other.headers)).toEqual([])
    expect((await ask('/v1/memory?key=secret', {}, other.headers)).status).toBe(404)
    await ask('/v1/memory?all=true', { method: 'DELETE' }, other.headers)
    // An agent of the operator has a memory too.
    expect((await remember('a', 'x', other.headers)).status).toBe(200)
    expect(await facts(other.headers)).toHaveLength(1)
  }
  expect(await facts()).toMatchObject([{ key: 'secret', text: 'mine' }])
})

test('/v1/memory: 403 when the owner’s account is disabled', async () => {
  const { ask, platform, user, clock } = await openTestInstallation()
  expect((await ask('/v1/memory')).status).toBe(200)
  await write(platform.db, (tx) => tx.update(users).set({ disabledAt: clock.now() }).where(eq(users.id, user.id)).run())
  expect((await ask('/v1/memory')).status).toBe(403)
})

test('/v1/memory: 429 when one agent exceeds its rate, not for other agents at its address', async () => {
  const { ask, add, user } = await openTestInstallation({ RATE_LIMIT_BACKEND: '2' })
  const other = await add(user.id)
  const statuses = []
  for (let index = 0; index < 3; index++) statuses.push((await ask('/v1/memory')).status)
  expect(statuses).toEqual([200, 200, 429])
  expect((await ask('/v1/memory', {}, other.headers)).status).toBe(200)
})

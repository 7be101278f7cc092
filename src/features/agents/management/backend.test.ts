import { expect, test } from 'bun:test'
import { z } from 'zod'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { VERSION } from '../../../core/version.ts'

const OPERATOR = bearer(INTERNAL_KEY)
const Created = z.object({ id: z.string() })
const Listed = z.array(Created)

/** Creates two users with an agent each, and an agent of the operator. */
async function withAgents() {
  const test = testPlatform()
  const ada = await test.signIn('ada@example.com', 'network')
  const eve = await test.signIn('eve@example.com')
  const headersFor = (userId?: string) => ({ ...OPERATOR, ...(userId && { 'x-user-id': userId }) })
  const create = async (userId?: string) =>
    (await read(Created, test.backend.request('/api/agents', json('POST', { name: 'Ada' }, headersFor(userId))))).id
  return {
    ...test,
    headersFor,
    ada: ada.user.id,
    eve: eve.user.id,
    ids: { ada: await create(ada.user.id), eve: await create(eve.user.id), operator: await create() },
  }
}

test('POST /api/agents: 201 with a pending agent and its address', async () => {
  const { backend, clock } = testPlatform({ environment: { DOMAIN: 'stead.example' } })
  const config = { plan: 'network', aiProvider: 'anthropic' }
  const response = await backend.request(
    '/api/agents',
    json('POST', { name: 'Ada Lovelace', config, unknown: 1 }, OPERATOR),
  )
  expect(response.status).toBe(201)
  const body = await response.json()
  const { id } = Created.parse(body)
  expect(body).toEqual({
    id: expect.stringMatching(/^ada-lovelace-[0-9a-f]{8}$/),
    name: 'Ada Lovelace',
    agentId: id,
    status: 'pending',
    subdomain: `${id}.agents.stead.example`,
    url: `https://${id}.agents.stead.example`,
    createdAt: clock.now().toISOString(),
  })
})

test.each([
  [{}, 'Agent name is required'],
  [{ name: ' ' }, 'Agent name is required'],
  [{ name: 'x'.repeat(101) }, 'Agent name must be at most 100 characters'],
  [{ name: 'Ada', config: { plan: 7 } }, 'plan must be text'],
])('POST /api/agents: 400 when the body is %j, and nothing is written', async (body, error) => {
  const { backend, platform } = testPlatform()
  const response = await backend.request('/api/agents', json('POST', body, OPERATOR))
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
  expect(countRows(platform.db).agents).toBe(0)
})

test('GET /api/agents: 200 with a flat list, all for the operator and own ones for a forwarded user', async () => {
  const { backend, headersFor, ada, ids } = await withAgents()
  const response = await backend.request('/api/agents', { headers: headersFor() })
  const all = Listed.parse(await response.json())
  expect(all.map(({ id }) => id).sort()).toEqual(Object.values(ids).sort())
  const own = await (await backend.request('/api/agents', { headers: headersFor(ada) })).json()
  expect(own).toEqual([
    {
      id: ids.ada,
      status: 'pending',
      created: expect.any(String),
      subdomain: `${ids.ada}.agents.localhost`,
      url: `https://${ids.ada}.agents.localhost`,
    },
  ])
})

test('GET /api/agents/:id: 200 with the agent at the top level of the body', async () => {
  const { backend, headersFor, ada, ids } = await withAgents()
  const response = await backend.request(`/api/agents/${ids.ada}`, { headers: headersFor(ada) })
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    id: ids.ada,
    status: 'pending',
    // Nothing has run yet, so there are no details.
    startedAt: null,
    plan: 'free',
    subdomain: `${ids.ada}.agents.localhost`,
    url: `https://${ids.ada}.agents.localhost`,
    runtimeVersion: VERSION,
    isolation: { state: 'not_isolated', by: null, reason: 'it was not started yet', egressEnforced: false },
    lastError: null,
    verified: false,
    verificationType: null,
    attestationUid: null,
    verifiedAt: null,
  })
})

test('PUT /api/agents/:id: 200 changes the given fields and keeps the rest', async () => {
  const { backend, headersFor, ada, ids } = await withAgents()
  const put = (body: unknown) => backend.request(`/api/agents/${ids.ada}`, json('PUT', body, headersFor(ada)))
  expect(await (await put({ plan: 'label' })).json()).toEqual({
    id: ids.ada,
    plan: 'label',
    aiProvider: 'openrouter',
    subdomain: `${ids.ada}.agents.localhost`,
    status: 'pending',
    message: expect.any(String),
  })
  expect(await (await put({ config: { aiProvider: 'groq' } })).json()).toMatchObject({
    plan: 'label',
    aiProvider: 'groq',
  })
  expect(await (await put({})).json()).toMatchObject({ plan: 'label', aiProvider: 'groq' })
})

test('PUT and POST /api/agents: 400 when plan or provider does not exist, 402 when the size exceeds the plan', async () => {
  const { backend, headersFor, ada, eve, ids } = await withAgents()
  const put = (body: unknown) => backend.request(`/api/agents/${ids.ada}`, json('PUT', body, headersFor(ada)))
  expect((await put({ plan: 'bogus' })).status).toBe(400)
  expect((await put({ aiProvider: 'bogus' })).status).toBe(400)
  expect((await put({ config: { plan: 'bogus' } })).status).toBe(400)
  const grow = json('PUT', { plan: 'enterprise' }, headersFor(eve))
  expect((await backend.request(`/api/agents/${ids.eve}`, grow)).status).toBe(402)
  const create = json('POST', { name: 'Bo', config: { plan: 'network' } }, headersFor(eve))
  expect((await backend.request('/api/agents', create)).status).toBe(402)
})

test('PUT /api/agents/:id: 200 applies the settings in config', async () => {
  const { backend, headersFor, ada, ids } = await withAgents()
  const change = { config: { model: 'openai/gpt-4o', skills: ['weather'] } }
  const response = await backend.request(`/api/agents/${ids.ada}`, json('PUT', change, headersFor(ada)))
  expect(response.status).toBe(200)
  const shown = await backend.request(`/api/agents/${ids.ada}/config`, { headers: headersFor(ada) })
  expect(await shown.json()).toMatchObject({ config: { model: 'openai/gpt-4o', skills: ['weather'] } })
})

test('PUT /api/agents/:id: 400 when a field has the wrong type, and nothing changes', async () => {
  const { backend, platform, headersFor, ada, ids } = await withAgents()
  const before = dumpTables(platform.db)
  const response = await backend.request(`/api/agents/${ids.ada}`, json('PUT', { plan: 7 }, headersFor(ada)))
  expect(response.status).toBe(400)
  expect(dumpTables(platform.db)).toBe(before)
})

test.each(['GET', 'PUT'] as const)(
  '%s /api/agents/:id: 404 when the agent is missing, another user’s or the operator’s',
  async (method) => {
    const { backend, platform, headersFor, eve, ids } = await withAgents()
    const before = dumpTables(platform.db)
    for (const id of [ids.ada, ids.operator, 'missing-00000000']) {
      const init = method === 'PUT' ? json('PUT', { plan: 'solo' }, headersFor(eve)) : { headers: headersFor(eve) }
      const response = await backend.request(`/api/agents/${id}`, init)
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({ error: 'Agent not found' })
    }
    expect(dumpTables(platform.db)).toBe(before)
  },
)

test.each(['start', 'stop', 'restart'])(
  'POST /api/agents/:id/%s: 404 for a stranger, and nothing changes',
  async (action) => {
    const { backend, platform, headersFor, eve, ids } = await withAgents()
    const before = dumpTables(platform.db)
    const response = await backend.request(`/api/agents/${ids.ada}/${action}`, {
      method: 'POST',
      headers: headersFor(eve),
    })
    expect(response.status).toBe(404)
    expect(dumpTables(platform.db)).toBe(before)
  },
)

test('DELETE /api/agents/:id: 200 with the same body for own, foreign and missing ids; only the own agent is deleted', async () => {
  const { backend, platform, headersFor, eve, ids } = await withAgents()
  for (const id of [ids.ada, 'missing-00000000', ids.eve, ids.eve]) {
    const response = await backend.request(`/api/agents/${id}`, { method: 'DELETE', headers: headersFor(eve) })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ id, deleted: true })
  }
  const left = Listed.parse(await (await backend.request('/api/agents', { headers: headersFor() })).json())
  expect(left.map(({ id }) => id).sort()).toEqual([ids.ada, ids.operator].sort())
  expect(countRows(platform.db).jobs).toBe(0)
})

const PROTECTED = [
  ['GET', '/api/agents'],
  ['POST', '/api/agents'],
  ['GET', '/api/agents/ada-1'],
  ['PUT', '/api/agents/ada-1'],
  ['DELETE', '/api/agents/ada-1'],
  ['POST', '/api/agents/ada-1/start'],
  ['POST', '/api/agents/ada-1/stop'],
  ['POST', '/api/agents/ada-1/restart'],
  ['POST', '/api/deployments'],
] as const

test.each(PROTECTED)('%s %s: 401 without a bearer, 403 with a wrong one, for any body', async (method, path) => {
  const { backend, platform, signIn } = testPlatform()
  const { cookie, user } = await signIn('ada@example.com', 'network')
  const before = dumpTables(platform.db)
  const ask = async (headers: Record<string, string>) => {
    const init =
      method === 'POST' || method === 'PUT' ? json(method, { name: 'Ada', agentId: 'a' }, headers) : { method, headers }
    const response = await backend.request(path, init)
    return [response.status, await response.json()]
  }
  const identity = { 'x-user-id': user.id, 'x-user-email': user.email, 'x-user-role': 'admin' }
  for (const headers of [
    {},
    cookie,
    identity,
    { authorization: INTERNAL_KEY },
    { authorization: `Basic ${INTERNAL_KEY}` },
  ])
    expect(await ask(headers)).toEqual([401, { error: 'Unauthorized' }])
  for (const key of ['wrong', `${INTERNAL_KEY}x`, INTERNAL_KEY.slice(0, -1), 'sk_wrong'])
    expect(await ask(bearer(key))).toEqual([403, { error: 'Forbidden' }])
  expect(dumpTables(platform.db)).toBe(before)
})

test.each(PROTECTED)('%s %s: 500 when no internal key is set', async (method, path) => {
  const { backend } = testPlatform({ environment: { INTERNAL_API_KEY: '' } })
  for (const headers of [{}, bearer('anything')]) {
    const init = method === 'POST' || method === 'PUT' ? json(method, { name: 'Ada' }, headers) : { method, headers }
    const response = await backend.request(path, init)
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({ error: 'Server misconfigured' })
  }
})

test('GET /api/agents: 403 when the forwarded user does not exist', async () => {
  const { backend, headersFor } = await withAgents()
  expect((await backend.request('/api/agents', { headers: headersFor('usr_nobody') })).status).toBe(403)
})

test('POST /api/agents/provision: 201 in the web API when no internal key is set', async () => {
  const { web, signIn, platform } = testPlatform({ environment: { INTERNAL_API_KEY: '' } })
  await using _jobs = startJobs(platform)
  const { cookie } = await signIn('ada@example.com', 'network')
  const request = json('POST', { name: 'Ada' }, cookie)
  expect((await web.request('/api/agents/provision', request)).status).toBe(201)
})

test('every route below /api of the backend API: 429 when one address exceeds its rate', async () => {
  const { backend } = testPlatform({ environment: { RATE_LIMIT_BACKEND: '1' } })
  await backend.request('/api/agents')
  const response = await backend.request('/api/agents')
  expect(response.status).toBe(429)
  expect(await response.json()).toEqual({ error: 'Too many requests, please slow down.' })
})

test('POST /api/agents and /api/deployments: 429 when a user reaches the cap of the plan, not for operator and administrators', async () => {
  const test = testPlatform({ environment: { ADMIN_EMAILS: 'root@example.com' } })
  await using _jobs = startJobs(test.platform)
  const headersFor = (userId?: string) => ({ ...OPERATOR, ...(userId && { 'x-user-id': userId }) })
  const create = (userId?: string) =>
    test.backend.request('/api/agents', json('POST', { name: 'Ada' }, headersFor(userId)))
  const deploy = (agentId: string, userId?: string) =>
    test.backend.request('/api/deployments', json('POST', { agentId }, headersFor(userId)))
  for (const [email, plan, limit] of [
    ['ada@example.com', 'collective', 3],
    ['eve@example.com', null, 1],
  ] as const) {
    const { user } = await test.signIn(email, plan)
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await create(user.id)).status))
    expect(statuses.filter((status) => status === 201)).toHaveLength(limit)
    const error = `Agent limit reached for ${plan ?? 'free'} tier`
    for (const refused of [await create(user.id), await deploy(`one-more-${limit}`, user.id)])
      expect([refused.status, await refused.json()]).toEqual([429, { error, current: limit, limit }])
  }
  const root = await test.signIn('root@example.com')
  for (const userId of [root.user.id, undefined])
    for (const _ of [1, 2, 3]) expect((await create(userId)).status).toBe(201)
})

import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { until } from '../../../../tests/harness/until.ts'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { write } from '../../../db/write.ts'
import { CreatedKey } from '../../accounts/keys/schemas.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent, openTokens } from '../registry/agents.ts'
import { ProvisionResponse, WebAgentDetail, WebAgentList } from '../registry/schemas.ts'
import { type AgentRow, agents } from '../registry/tables.ts'

type TestPlatform = ReturnType<typeof testPlatform>

/** Fields of every response to a creation. */
const Flat = z.object({ id: z.string(), createdAt: z.string() })

/** Inserts an agent that was never deployed. */
function addAgent({ platform, clock }: TestPlatform, ownerId: string, agent: Partial<AgentRow> = {}) {
  const usual = { name: 'Ada', model: 'openai/gpt-4o-mini', plan: 'solo', aiProvider: 'openrouter' }
  return write(platform.db, (tx) =>
    insertAgent({ clock, sealer: platform.sealer }, tx, { ...usual, status: 'running', ...agent, ownerId }),
  )
}

function provision({ web }: TestPlatform, headers: Record<string, string>, body: unknown = { name: 'Ada' }) {
  return web.request('/api/agents/provision', json('POST', body, headers))
}

test('GET /api/agents: 200 with an empty list without a session', async () => {
  const { web } = testPlatform()
  const response = await web.request('/api/agents')
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ agents: [], count: 0, status: 'ok' })
})

test('GET /api/agents: 200 with own agents only, newest first, without tokens', async () => {
  const test = testPlatform()
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const first = await addAgent(test, ada.user.id)
  test.clock.advance(1000)
  const second = await addAgent(test, ada.user.id, { name: 'Bo', status: 'stopped' })
  await addAgent(test, eve.user.id)
  const response = await test.web.request('/api/agents', { headers: ada.cookie })
  expect(await response.json()).toEqual({
    agents: [second, first].map((agent) => ({
      id: agent.id,
      name: agent.name,
      model: 'openai/gpt-4o-mini',
      status: agent.status,
      websocketUrl: `ws://${agent.id}.agents.localhost:3000`,
      lastError: null,
      createdAt: agent.createdAt.toISOString(),
      updatedAt: agent.updatedAt.toISOString(),
    })),
    count: 2,
    status: 'ok',
  })
})

test('GET /api/agents: 200 with wss URLs of gateways when the app uses https', async () => {
  const test = testPlatform({ environment: { APP_URL: 'https://stead.example', DOMAIN: 'stead.example' } })
  const { user, cookie } = await test.signIn()
  const { id } = await addAgent(test, user.id)
  const { agents } = await read(WebAgentList, test.web.request('/api/agents', { headers: cookie }))
  expect(agents[0]?.websocketUrl).toBe(`wss://${id}.agents.stead.example`)
})

test('GET /api/agents/:id: 200 for the owner, with a session and with their key', async () => {
  const test = testPlatform()
  const { user, cookie } = await test.signIn()
  const { id } = await addAgent(test, user.id)
  const { key } = await read(CreatedKey, test.web.request('/api/keys', json('POST', { name: 'laptop' }, cookie)))
  for (const headers of [cookie, bearer(key)]) {
    const response = await test.web.request(`/api/agents/${id}`, { headers })
    expect(response.status).toBe(200)
    expect(await read(WebAgentDetail, response)).toMatchObject({ agent: { id, name: 'Ada' }, status: 'ok' })
  }
})

test.each([
  ['GET', ''],
  ['GET', '/events'],
  ['POST', '/start'],
  ['POST', '/stop'],
  ['POST', '/restart'],
])('%s /api/agents/:id%s: 404 for a stranger and for a missing id, and nothing changes', async (method, path) => {
  const test = testPlatform()
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com', 'network')
  const { id } = await addAgent(test, ada.user.id)
  const before = dumpTables(test.platform.db)
  for (const target of [id, 'missing-00000000', '%00', '..%2f..']) {
    const response = await test.web.request(`/api/agents/${target}${path}`, { method, headers: eve.cookie })
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: 'Agent not found' })
  }
  expect(dumpTables(test.platform.db)).toBe(before)
})

test.each([
  ['GET', '/api/agents/provision'],
  ['POST', '/api/agents/provision'],
  ['GET', '/api/agents/ada-1'],
  ['DELETE', '/api/agents/ada-1'],
  ['GET', '/api/agents/ada-1/events'],
  ['POST', '/api/agents/ada-1/start'],
  ['POST', '/api/agents/ada-1/stop'],
  ['POST', '/api/agents/ada-1/restart'],
])("%s %s: 401 without a session, with a wrong key and with an agent's token", async (method, path) => {
  const test = testPlatform()
  const { user } = await test.signIn('ada@example.com', 'network')
  const { accessToken } = openTokens(test.platform.sealer, await addAgent(test, user.id))
  const before = dumpTables(test.platform.db)
  for (const headers of [{}, { cookie: 'service-session=wrong' }, bearer('sk_wrong'), bearer(accessToken)]) {
    const body = method === 'POST' ? json('POST', { name: 'Ada' }, headers) : { method, headers }
    const response = await test.web.request(path, body)
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({ error: 'Unauthorized' })
  }
  expect(dumpTables(test.platform.db)).toBe(before)
})

test('DELETE /api/agents/:id: 200 for the owner, and the agent is deleted with all its data', async () => {
  const removed: string[] = []
  const runtime: Runtime = {
    ...createNoRuntime('process', 'Not in this test'),
    inspect: async () => null,
    remove: async (agentId) => void removed.push(agentId),
  }
  const test = testPlatform({ runtime })
  const { user, cookie } = await test.signIn()
  const { id } = await addAgent(test, user.id, { port: 20_000 })
  const response = await test.web.request(`/api/agents/${id}`, { method: 'DELETE', headers: cookie })
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ id, deleted: true })
  expect(removed).toEqual([id])
  expect(countRows(test.platform.db)).toMatchObject({ agents: 0, jobs: 0 })
  expect((await test.web.request(`/api/agents/${id}`, { headers: cookie })).status).toBe(404)
})

test('DELETE /api/agents/:id: 200 with the same body for foreign and missing ids, and nothing changes', async () => {
  const test = testPlatform()
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const { id } = await addAgent(test, ada.user.id)
  const before = dumpTables(test.platform.db)
  for (const target of [id, 'missing-00000000']) {
    const response = await test.web.request(`/api/agents/${target}`, { method: 'DELETE', headers: eve.cookie })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ id: target, deleted: true })
  }
  expect(dumpTables(test.platform.db)).toBe(before)
})

test.each([
  [{}, 'Agent name is required'],
  [{ name: '' }, 'Agent name is required'],
  [{ name: ' \t' }, 'Agent name is required'],
  [{ name: 7 }, 'Agent name is required'],
  [{ name: 'x'.repeat(101) }, 'Agent name must be at most 100 characters'],
  [{ name: 'A\0da' }, 'Agent name must not contain NUL'],
  [{ name: 'Ada', model: 'm\0' }, 'Model must not contain NUL'],
  [{ name: 'Ada', model: '' }, 'Model must be text'],
  [{ name: 'Ada', model: 7 }, 'Model must be text'],
  [{ name: 'Ada', model: 'x'.repeat(201) }, 'Model must be at most 200 characters'],
  [{ name: 'Ada', tier: 7 }, 'tier must be text'],
  [{ name: 'Ada', tier: 'x'.repeat(41) }, 'tier must be at most 40 characters'],
  [{ name: 'Ada', config: { aiProvider: 7 } }, 'aiProvider must be text'],
  [{ name: 'Ada', config: { plan: 'x'.repeat(41) } }, 'plan must be at most 40 characters'],
])('POST /api/agents/provision: 400 when the body is %j, and nothing is written', async (body, error) => {
  const test = testPlatform()
  const { cookie } = await test.signIn('ada@example.com', 'network')
  const before = countRows(test.platform.db)
  const response = await provision(test, cookie, body)
  expect(await response.json()).toEqual({ error })
  expect(response.status).toBe(400)
  expect(countRows(test.platform.db)).toEqual(before)
})

test.each([
  ['no plan', { plan: 'free', subscriptionStatus: 'inactive' }],
  ['a plan whose payment is due', { plan: 'solo', subscriptionStatus: 'past_due' }],
  ['a plan that was canceled', { plan: 'network', subscriptionStatus: 'canceled' }],
  ['the word free as an active plan', { plan: 'free', subscriptionStatus: 'active' }],
] as const)('POST /api/agents/provision: 402 with %s, and nothing is written', async (_what, account) => {
  const test = testPlatform()
  const { user, cookie } = await test.signIn()
  await write(test.platform.db, (tx) => tx.update(users).set(account).where(eq(users.id, user.id)).run())
  const response = await provision(test, cookie)
  expect(response.status).toBe(402)
  expect(await response.json()).toEqual({
    error: 'Active subscription required to provision agents',
    code: 'SUBSCRIPTION_REQUIRED',
  })
  expect(countRows(test.platform.db)).toMatchObject({ agents: 0, jobs: 0 })
})

test.each([
  ['solo', undefined, 1],
  ['collective', undefined, 3],
  ['network', 'starter', 1],
  ['network', 'pro', 3],
  ['solo', 'enterprise', 1],
  ['network', 'huge', 1],
  ['network', 'Pro', 1],
  ['network', 'constructor', 1],
] as const)(
  'POST /api/agents/provision: on plan %s with tier %p, 429 at %d agents with current and limit',
  async (plan, tier, limit) => {
    const test = testPlatform()
    const { user, cookie } = await test.signIn('ada@example.com', plan)
    for (let count = 0; count < limit; count++) await addAgent(test, user.id)
    const response = await provision(test, cookie, { name: 'One more', ...(tier && { tier }) })
    expect(response.status).toBe(429)
    expect(await response.json()).toEqual({
      error: `Agent limit reached for ${tier ?? plan} tier`,
      current: limit,
      limit,
    })
    expect(countRows(test.platform.db)).toMatchObject({ agents: limit, jobs: 0 })
  },
)

test('POST /api/agents/provision: 201 up to the cap and 429 beyond it when 50 requests are concurrent', async () => {
  const test = testPlatform()
  await using _jobs = startJobs(test.platform)
  const { cookie } = await test.signIn('ada@example.com', 'collective')
  const responses = await Promise.all(Array.from({ length: 50 }, () => provision(test, cookie)))
  const statuses = responses.map(({ status }) => status)
  expect(statuses.filter((status) => status === 201)).toHaveLength(3)
  expect(statuses.filter((status) => status === 429)).toHaveLength(47)
  expect(countRows(test.platform.db).agents).toBe(3)
})

test('POST /api/agents/provision: 503 when provisioning is switched off, also for administrators', async () => {
  const test = testPlatform({ environment: { KILL_SWITCH: 'true', ADMIN_EMAILS: 'ada@example.com' } })
  const { cookie } = await test.signIn('ada@example.com', 'network')
  const response = await provision(test, cookie)
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ error: 'Provisioning is temporarily disabled. Contact support.' })
  expect(countRows(test.platform.db).agents).toBe(0)
})

test('POST /api/agents/provision: 201 for an administrator without subscription and cap', async () => {
  const test = testPlatform({ environment: { ADMIN_EMAILS: 'ADA@example.com' } })
  await using _jobs = startJobs(test.platform)
  const { user, cookie } = await test.signIn()
  await addAgent(test, user.id)
  expect((await provision(test, cookie)).status).toBe(201)
  expect(countRows(test.platform.db).agents).toBe(2)
})

test('POST /api/agents/provision: 201 with status error and the reason when there is no runtime', async () => {
  const test = testPlatform()
  await using _jobs = startJobs(test.platform)
  const { cookie } = await test.signIn('ada@example.com', 'solo')
  const response = await provision(test, cookie, { name: 'Ada Lovelace', model: 'openai/gpt-4o-mini' })
  expect(response.status).toBe(201)
  const body = await response.json()
  const { agent } = ProvisionResponse.parse(body)
  expect(body).toEqual({
    success: true,
    error: 'This test has no runtime',
    agent: {
      id: expect.stringMatching(/^ada-lovelace-[0-9a-f]{8}$/),
      name: 'Ada Lovelace',
      model: 'openai/gpt-4o-mini',
      status: 'error',
      websocketUrl: `ws://${agent.id}.agents.localhost:3000`,
      lastError: 'This test has no runtime',
      createdAt: test.clock.now().toISOString(),
    },
  })
  const detail = await test.web.request(`/api/agents/${agent.id}`, { headers: cookie })
  expect(await read(WebAgentDetail, detail)).toMatchObject({ agent: { status: 'error' } })
  expect(dumpTables(test.platform.db)).toContain('This test has no runtime')
  for (const action of ['start', 'restart']) {
    const started = await test.web.request(`/api/agents/${agent.id}/${action}`, { method: 'POST', headers: cookie })
    expect(started.status).toBe(500)
    expect(await started.json()).toEqual({ error: 'This test has no runtime' })
  }
  expect((await test.web.request('/api/keys', { headers: cookie })).status).toBe(200)
})

test('POST /api/agents/provision: 201 before the deployment ends when Prefer is respond-async', async () => {
  const test = testPlatform()
  const { cookie } = await test.signIn('ada@example.com', 'solo')
  const response = await provision(test, { ...cookie, prefer: 'respond-async' })
  expect(response.status).toBe(201)
  const { agent } = await read(ProvisionResponse, response)
  expect(agent.status).toBe('provisioning')
  await using _jobs = startJobs(test.platform)
  const path = `/api/agents/${agent.id}`
  await until('the end of the deployment', async () => {
    const detail = await read(WebAgentDetail, test.web.request(path, { headers: cookie }))
    return detail.agent.status === 'error'
  })
})

test('POST /api/agents/provision: 201 and an agent’s tokens are encrypted, differently in each row', async () => {
  const test = testPlatform()
  const { user } = await test.signIn()
  const first = await addAgent(test, user.id)
  const second = await addAgent(test, user.id)
  const tokens = [first, second].flatMap((agent) => Object.values(openTokens(test.platform.sealer, agent)))
  expect(new Set(tokens).size).toBe(4)
  const dump = dumpTables(test.platform.db)
  for (const token of tokens) expect(dump).not.toContain(token)
  expect(() => openTokens(test.platform.sealer, { ...first, gatewayToken: second.gatewayToken })).toThrow()
})

test('GET /api/agents/provision: 200 lists own agents', async () => {
  const test = testPlatform()
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const { id } = await addAgent(test, ada.user.id)
  const list = async (headers: Record<string, string>) =>
    (await test.web.request('/api/agents/provision', { headers })).json()
  expect(await list(ada.cookie)).toMatchObject({ success: true, agents: [{ id }], count: 1 })
  expect(await list(eve.cookie)).toEqual({ success: true, agents: [], count: 0 })
})

test.each(['/api/agents', '/api/agents/provision', '/api/agents/ada-1', '/api/agents/ada-1/events'])(
  'GET %s: 429 when one address exceeds its rate',
  async (path) => {
    const { web } = testPlatform({ environment: { RATE_LIMIT_AGENTS: '1' } })
    await web.request('/api/agents')
    const response = await web.request(path)
    expect(response.status).toBe(429)
    expect(await response.json()).toEqual({ error: 'Too many requests, please slow down.' })
  },
)

test("DELETE /api/user: 200 deletes the account's agents", async () => {
  const test = testPlatform()
  const { user } = await test.signIn()
  await addAgent(test, user.id)
  await write(test.platform.db, (tx) => tx.delete(users).where(eq(users.id, user.id)).run())
  expect(test.platform.db.select().from(agents).all()).toEqual([])
})

test('POST /api/agents: 201 with a pending agent that counts towards the cap', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn('ada@example.com', 'solo')
  const create = () => web.request('/api/agents', json('POST', { name: 'Ada', config: { plan: 'solo' } }, cookie))
  const created = await create()
  expect(created.status).toBe(201)
  const body = await created.json()
  const { id, createdAt } = Flat.parse(body)
  const address = { subdomain: `${id}.agents.localhost`, url: `https://${id}.agents.localhost` }
  expect(body).toEqual({
    ...{ id, agentId: id, name: 'Ada', status: 'pending', ...address, createdAt },
    agent: {
      ...{ id, name: 'Ada', model: 'default', status: 'pending', createdAt, updatedAt: createdAt },
      websocketUrl: `ws://${id}.agents.localhost:3000`,
      lastError: null,
    },
  })
  const second = await create()
  expect(second.status).toBe(429)
  expect(await second.json()).toMatchObject({ current: 1, limit: 1 })
})

test('POST /api/agents: 400 without a name, 401 without a session, 402 without a subscription or beyond the size, 503 when switched off', async () => {
  const { web, platform, signIn } = testPlatform()
  const { cookie } = await signIn('ada@example.com', 'solo')
  const poor = await signIn('eve@example.com')
  const ask = async (body: unknown, headers: Record<string, string> = {}) => {
    const response = await web.request('/api/agents', json('POST', body, headers))
    return `${response.status} ${JSON.stringify(await response.json())}`
  }
  expect(await ask({}, cookie)).toBe('400 {"error":"Agent name is required"}')
  expect(await ask({ name: 'Ada' })).toStartWith('401')
  expect(await ask({ name: 'Ada' }, poor.cookie)).toStartWith('402')
  expect(await ask({ name: 'Ada', config: { plan: 'network' } }, cookie)).toContain('402 {"error":"Your plan does not')
  expect(platform.db.select().from(agents).all()).toEqual([])
  const off = testPlatform({ environment: { KILL_SWITCH: 'true' } })
  const someone = await off.signIn('ada@example.com', 'solo')
  expect((await off.web.request('/api/agents', json('POST', { name: 'Ada' }, someone.cookie))).status).toBe(503)
})

test('PUT and PATCH /api/agents/:id: 200 with the change, 404 for a stranger, 401 without a session', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn('ada@example.com', 'network')
  const stranger = await signIn('eve@example.com', 'network')
  const created = await web.request('/api/agents', json('POST', { name: 'Ada' }, cookie))
  const agent = await read(Flat, created)
  const path = `/api/agents/${agent.id}`
  const put = await web.request(path, json('PUT', { plan: 'label', aiProvider: 'openai' }, cookie))
  const changed = { id: agent.id, plan: 'label', aiProvider: 'openai', status: 'pending' }
  const flat = { ...changed, subdomain: `${agent.id}.agents.localhost`, message: 'Agent updated' }
  expect(await put.json()).toMatchObject({ ...flat, agent: { ...changed, name: 'Ada' } })
  const patch = await web.request(path, json('PATCH', { name: ' Bo ' }, cookie))
  const renamed = {
    id: agent.id,
    name: 'Bo',
    status: 'pending',
    updatedAt: expect.any(String),
    logBodies: false,
    guardrails: null,
  }
  expect(await patch.json()).toEqual({ success: true, agent: renamed })
  const logged = await web.request(path, json('PATCH', { logBodies: true }, cookie))
  expect(await logged.json()).toMatchObject({ agent: { name: 'Bo', logBodies: true } })
  expect(await (await web.request(path, { headers: cookie })).json()).toMatchObject({ agent: { logBodies: true } })

  const nameless = await web.request(path, json('PATCH', { name: ' ' }, cookie))
  expect(`${nameless.status} ${await nameless.text()}`).toBe('400 {"error":"Name is required"}')
  const long = await web.request(path, json('PATCH', { name: 'x'.repeat(65) }, cookie))
  expect(`${long.status} ${await long.text()}`).toBe('400 {"error":"Name too long (max 64 chars)"}')
  for (const method of ['PUT', 'PATCH'] as const) {
    const body = { name: 'Eve', aiProvider: 'openai' }
    expect((await web.request(path, json(method, body, stranger.cookie))).status).toBe(404)
    expect((await web.request(path, json(method, body))).status).toBe(401)
  }
})

test('PUT /api/agents/:id: 404 for a stranger before 402', async () => {
  const test = testPlatform()
  const ada = await test.signIn('ada@example.com', 'network')
  const eve = await test.signIn('eve@example.com', 'solo')
  const { id } = await addAgent(test, ada.user.id)
  const ask = async (target: string, body: unknown) => {
    const response = await test.web.request(`/api/agents/${target}`, json('PUT', body, eve.cookie))
    return [response.status, await response.json()]
  }
  for (const body of [{ plan: 'network' }, { config: { plan: 'network' } }, { plan: 'solo' }])
    for (const target of [id, 'missing-00000000'])
      expect(await ask(target, body)).toEqual([404, { error: 'Agent not found' }])
  const own = await addAgent(test, eve.user.id)
  expect(await ask(own.id, { plan: 'network' })).toMatchObject([402, { code: 'PLAN_REQUIRED' }])
  expect(dumpTables(test.platform.db)).not.toContain('"network","openrouter"')
})

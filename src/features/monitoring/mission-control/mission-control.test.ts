import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { usageDays, usageLogs } from '../../ai/usage/tables.ts'
import { Swarm } from '../../conversations/swarms/schemas.ts'
import { bookings } from '../../payments/underground/tables.ts'
import { Bookings, FleetCosts, FleetGraph, Trace } from './schemas.ts'

const FLEET = '/api/mission-control/fleet'

/** Ada has a plan, Eve has none; `add` creates an agent. */
async function withPeople() {
  const test = testPlatform()
  test.clock.set(new Date('2026-11-20T12:00:00Z'))
  const ada = await test.signIn('ada@example.com', 'collective')
  const eve = await test.signIn('eve@example.com')
  const add = async (ownerId: string, name: string, row: Partial<AgentRow> = {}) => {
    const kind = { name, model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running', ...row } as const
    const deps = { clock: test.clock, sealer: test.platform.sealer }
    test.clock.advance(1000)
    const { id } = await write(test.platform.db, (tx) => insertAgent(deps, tx, { ...kind, ownerId }))
    return id
  }
  const get = (path: string, who = ada) => test.web.request(`${FLEET}/${path}`, { headers: who.cookie })
  const ask = (path: string, headers: Record<string, string> = {}) =>
    test.backend.request(`${FLEET}/${path}`, { headers: { ...bearer(INTERNAL_KEY), ...headers } })
  return { ...test, ada, eve, add, get, ask }
}

function addCall(tx: Parameters<Parameters<typeof write>[1]>[0], call: Partial<typeof usageLogs.$inferInsert>) {
  const row = { userId: '', agentId: '', model: 'a/b', createdAt: new Date(), ...call }
  tx.insert(usageLogs).values(row).run()
}

test('GET /api/mission-control/fleet/*: 200 with empty bodies without a session', async () => {
  const { web, clock } = testPlatform()
  const readFrom = async (path: string) => {
    const response = await web.request(`${FLEET}/${path}`)
    expect(response.status).toBe(200)
    return response.json()
  }
  const atlas = { id: 'atlas', name: 'atlas', role: 'orchestrator', status: 'offline', x: 400, y: 300 }
  expect(await readFrom('graph')).toEqual({
    nodes: [{ ...atlas, load: 0, memory: 0 }],
    edges: [],
    timestamp: clock.now().toISOString(),
    source: 'unauthenticated',
    nodeCount: 1,
    stats: { totalAgents: 1, activeAgents: 0, idleAgents: 0, offlineAgents: 1 },
    dashboardUrl: 'http://localhost:3000',
  })
  expect(await readFrom('traces')).toEqual([])
  expect(await readFrom('costs')).toEqual({ costs: [], totalSpend: 0, managedAiCost: 0, coordinationRevenue: 0 })
  expect(await readFrom('bookings')).toEqual({ bookings: [] })
})

test('GET /api/mission-control/fleet/graph: 200 with the caller’s agents at stable positions, and only known values', async () => {
  const { ada, eve, add, get, platform, clock } = await withPeople()
  const one = await add(ada.user.id, 'One')
  await write(platform.db, (tx) => tx.update(agents).set({ startedAt: clock.now() }).run())
  await add(eve.user.id, 'Hers')
  clock.advance(60_000)
  const before = await read(FleetGraph, get('graph'))
  expect(before.nodes).toEqual([
    {
      id: one,
      name: 'One',
      role: 'worker',
      status: 'active',
      x: 600,
      y: 300,
      load: null,
      memory: null,
      uptime: 61,
      url: `https://${one}.agents.localhost`,
    },
  ])
  await add(ada.user.id, 'Two', { status: 'pending' })
  await add(ada.user.id, 'Three', { status: 'error' })
  const after = await read(FleetGraph, get('graph'))
  expect(after).toMatchObject({ source: 'soul', nodeCount: 3, edges: [] })
  expect(after.nodes[0]).toMatchObject({ x: 600, y: 300 })
  expect(after.nodes.map(({ name, status }) => [name, status])).toEqual([
    ['One', 'active'],
    ['Two', 'idle'],
    ['Three', 'offline'],
  ])
  expect(after.stats).toEqual({ totalAgents: 3, activeAgents: 1, idleAgents: 1, offlineAgents: 1 })
  expect(new Set(after.nodes.map(({ x, y }) => `${x},${y}`)).size).toBe(3)
})

test('GET /api/mission-control/fleet/graph: 200 with edges of real runs, as strong as they are frequent', async () => {
  const { ada, add, get, ask, web } = await withPeople()
  const [one, two, boss] = [
    await add(ada.user.id, 'One'),
    await add(ada.user.id, 'Two'),
    await add(ada.user.id, 'Boss'),
  ]
  const post = (path: string, body: unknown) => web.request(path, json('POST', body, ada.cookie))
  const runOf = async (request: object, times: number) => {
    const { id } = await read(Swarm, post('/api/swarms', { name: 's', ...request }))
    for (let count = 0; count < times; count++) await post(`/api/swarms/${id}/run`, { task: 'Think' })
  }
  await runOf({ agents: [one, two] }, 1)
  await runOf({ agents: [one, boss], summarizer: boss }, 2)
  const { edges, nodes } = await read(FleetGraph, get('graph'))
  const [first = '', second = ''] = [one, two].sort()
  expect(edges.sort((left, right) => left.strength - right.strength)).toEqual([
    { id: `${first}:${second}`, from: first, to: second, strength: 0.5 },
    { id: `${one}:${boss}`, from: one, to: boss, strength: 1 },
  ])
  expect(nodes.map(({ role }) => role)).toEqual(['specialist', 'specialist', 'orchestrator'])
  const backend = await (await ask(`graph?userId=${ada.user.id}`)).json()
  expect(backend).toMatchObject({
    edges: expect.arrayContaining([{ id: `${one}:${boss}`, source: one, target: boss, label: 'swarm' }]),
  })
})

test('GET /api/mission-control/fleet/graph: 200 and degraded when the rows cannot be read', async () => {
  const { get, platform } = await withPeople()
  await write(platform.db, (tx) => tx.run(sql`ALTER TABLE swarm_runs RENAME TO gone`))
  const response = await get('graph')
  expect(response.status).toBe(200)
  expect(await read(FleetGraph, response)).toMatchObject({
    nodes: [{ id: 'atlas' }],
    source: 'degraded',
    degraded: true,
    detail: 'The fleet could not be read',
  })
})

test('GET /api/mission-control/fleet/traces: 200 with the last twenty own calls with time, tokens and cost, newest first', async () => {
  const { ada, eve, add, get, platform } = await withPeople()
  const agentId = await add(ada.user.id, 'One')
  const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 13, 0, second))
  await write(platform.db, (tx) => {
    for (let second = 0; second < 25; second++) addCall(tx, { userId: ada.user.id, agentId, createdAt: at(second) })
    const last = { inputTokens: 7, outputTokens: 5, costMicroUsd: 1_500_000, latencyMs: 2500 }
    addCall(tx, { userId: ada.user.id, agentId, createdAt: at(30), ...last })
    addCall(tx, { userId: ada.user.id, agentId: 'gone', createdAt: at(31), success: false })
    addCall(tx, { userId: eve.user.id, createdAt: at(40) })
  })
  const traces = await read(Trace.array(), get('traces'))
  expect(traces).toHaveLength(20)
  expect(traces[0]).toMatchObject({ status: 'failed', description: 'gone: a/b', tokensUsed: 0, costUSD: 0 })
  expect(traces[1]).toEqual({
    id: expect.any(String),
    status: 'completed',
    description: 'One: a/b',
    startedAt: '2026-11-20T13:00:27.500Z',
    completedAt: '2026-11-20T13:00:30.000Z',
    tokensUsed: 12,
    costUSD: 1.5,
    estimated: false,
    model: 'a/b',
  })
  expect(await read(Trace.array(), get('traces', eve))).toHaveLength(1)
})

test('GET /api/mission-control/fleet/costs: 200 with this month’s cost per agent, the total, and the price of the plan', async () => {
  const { ada, eve, add, get, platform, clock } = await withPeople()
  clock.set(new Date('2026-09-30T23:59:00Z'))
  const one = await add(ada.user.id, 'One')
  clock.set(new Date('2026-11-20T12:00:00Z'))
  const two = await add(ada.user.id, 'Two', { status: 'stopped' })
  const day = (day: string, agentId: string, costMicroUsd: number) => ({
    ...{ userId: ada.user.id, day, agentId, model: 'a/b' },
    ...{ inputTokens: 1, outputTokens: 1, costMicroUsd, calls: 1 },
  })
  await write(platform.db, (tx) =>
    tx
      .insert(usageDays)
      .values([day('2026-11-01', one, 2_000_000), day('2026-11-20', one, 500_000), day('2026-10-31', two, 4_000_000)])
      .run(),
  )
  const costs = await read(FleetCosts, get('costs'))
  expect(costs).toMatchObject({
    totalSpend: 6.5,
    managedAiCost: 69,
    coordinationRevenue: 0,
    plan: 'collective',
    agentCount: 2,
    activeAgents: 1,
    monthsActive: 3,
  })
  expect(costs.costs.map(({ agentName, monthlyCost, status }) => [agentName, monthlyCost, status])).toEqual([
    ['Two', 0, 'stopped'],
    ['One', 2.5, 'running'],
  ])
  expect(await read(FleetCosts, get('costs', eve))).toMatchObject({ costs: [], totalSpend: 0, managedAiCost: 0 })
})

test('GET /api/mission-control/fleet/costs: 200 without a plan cost when the plan is not paid', async () => {
  const { ada, get, platform } = await withPeople()
  await write(platform.db, (tx) => tx.update(users).set({ subscriptionStatus: 'canceled' }).run())
  expect(await read(FleetCosts, get('costs'))).toMatchObject({ plan: 'collective', managedAiCost: 0 })
  const home = testPlatform({ environment: { DEPLOYMENT_MODE: 'home' } })
  const { cookie } = await home.signIn('ada@example.com', 'network')
  const costs = home.web.request('/api/mission-control/fleet/costs', { headers: cookie })
  expect(await read(FleetCosts, costs)).toMatchObject({ plan: 'network', managedAiCost: 0 })
  expect(ada.user.plan).toBe('collective')
})

test('GET /api/mission-control/fleet/bookings: 200 with the newest ten own agents that are pending', async () => {
  const { ada, eve, add, get } = await withPeople()
  for (let count = 0; count < 12; count++) await add(ada.user.id, `A${count}`, { status: 'pending' })
  await add(ada.user.id, 'Runs')
  await add(eve.user.id, 'Hers', { status: 'pending' })
  const { bookings } = await read(Bookings, get('bookings'))
  expect(bookings.map(({ agentName }) => agentName)).toEqual(
    [11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map((count) => `A${count}`),
  )
  expect(bookings[0]).toMatchObject({ status: 'pending', tier: 'solo' })
})

test('the backend API returns rows of all users or of one to the operator, and own rows to a user', async () => {
  const { ada, eve, add, ask, platform, clock } = await withPeople()
  const one = await add(ada.user.id, 'One', { status: 'pending' })
  const hers = await add(eve.user.id, 'Hers')
  await write(platform.db, (tx) => {
    addCall(tx, { userId: ada.user.id, agentId: one, inputTokens: 3, latencyMs: 9, createdAt: clock.now() })
    const used = { model: 'a/b', inputTokens: 1, outputTokens: 1, costMicroUsd: 250_000, calls: 1 }
    tx.insert(usageDays)
      .values({ userId: ada.user.id, day: '2026-11-20', agentId: one, ...used })
      .run()
  })
  const all = await (await ask('graph')).json()
  expect(all).toEqual({
    nodes: [
      { id: hers, name: 'Hers', type: 'agent', status: 'active', metadata: expect.any(Object) },
      { id: one, name: 'One', type: 'agent', status: 'pending', metadata: expect.any(Object) },
    ],
    edges: [],
  })
  expect(await (await ask(`traces?userId=${ada.user.id}`)).json()).toMatchObject([
    { user_id: ada.user.id, agent_id: one, input_tokens: 3, latency_ms: 9, success: true },
  ])
  expect(await (await ask('costs')).json()).toEqual([{ agent_id: one, total_spend: 0.25, category: 'ai' }])
  await write(platform.db, (tx) => {
    const amounts = { guaranteeMicroUsd: 500_250_000, backendMicroUsd: 0, depositMicroUsd: 0 }
    const times = { createdAt: clock.now(), updatedAt: clock.now() }
    const whose = { payerId: ada.user.id, offeringAgentId: one, messageId: 'm', talentName: 'Bo', venue: 'Cellar' }
    tx.insert(bookings)
      .values({ id: 'bk_1', status: 'confirmed', ...whose, ...amounts, ...times })
      .run()
  })
  for (const path of ['bookings', `bookings?userId=${ada.user.id}`]) {
    expect(await (await ask(path)).json()).toEqual([
      {
        id: 'bk_1',
        user_id: ada.user.id,
        agent_id: one,
        talent_agent_id: null,
        event_id: null,
        event_name: 'Bo',
        status: 'confirmed',
        proposed_price_usdc: '500.25',
        final_price_usdc: '500.25',
        created_at: clock.now().toISOString(),
      },
    ])
  }
  const asEve = { 'x-user-id': eve.user.id }
  for (const path of ['traces', 'costs', 'bookings', `traces?userId=${ada.user.id}`, `costs?userId=${ada.user.id}`])
    expect(await (await ask(path, asEve)).json()).toEqual([])
  expect(await (await ask(`graph?userId=${ada.user.id}`, asEve)).json()).toEqual({ nodes: [], edges: [] })
})

test.each(['graph', 'traces', 'costs', 'bookings'])(
  'backend GET %s: 401 without a key and with a wrong one',
  async (path) => {
    const { backend } = testPlatform()
    for (const headers of [{}, bearer('wrong')]) {
      const response = await backend.request(`${FLEET}/${path}`, { headers })
      expect(response.status).toBe(401)
      expect(await response.json()).toEqual({ error: 'Unauthorized' })
    }
  },
)

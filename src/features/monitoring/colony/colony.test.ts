import { expect, test } from 'bun:test'
import { hasAnvil } from '../../../../tests/harness/chain/anvil.ts'
import { fund, openPaying, startTokenChain, USDC } from '../../../../tests/harness/paying-platform.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { toolDays, usageLogs } from '../../ai/usage/tables.ts'
import { swarmAnswers, swarmRuns, swarms } from '../../conversations/swarms/tables.ts'
import { createWallet } from '../../payments/wallets/create.ts'
import { ColonyDiagnostics, ColonySoul, ColonyTree } from './schemas.ts'

/** Ada has an agent that has run for a minute and a stopped one; Eve has none. */
async function withColony() {
  const test = testPlatform()
  const { platform, clock } = test
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const add = (name: string, status: 'running' | 'stopped') =>
    write(platform.db, (tx) => {
      const kind = { name, model: 'm', plan: 'solo', aiProvider: 'openrouter', status, ownerId: ada.user.id } as const
      return insertAgent({ clock, sealer: platform.sealer }, tx, kind).id
    })
  const one = await add('One', 'running')
  await write(platform.db, (tx) => tx.update(agents).set({ startedAt: clock.now() }).run())
  clock.advance(60_000)
  const two = await add('Two', 'stopped')
  const get = (action: string, who = ada) => test.web.request(`/api/colony/status${action}`, { headers: who.cookie })
  /** Records model calls of an agent, `succeeded` of them successful. */
  const call = (agentId: string, asked: number, succeeded: number) =>
    write(platform.db, (tx) => {
      const of = { userId: ada.user.id, agentId, model: 'm', createdAt: clock.now() }
      for (let index = 0; index < asked; index++)
        tx.insert(usageLogs)
          .values({ ...of, success: index < succeeded })
          .run()
    })
  return { ...test, ada, eve, one, two, get, call }
}

test('GET /api/colony/status: 200 with the caller’s agents; `degraded` lists unknown fields', async () => {
  const { get, one, two, clock } = await withColony()
  const response = await get('')
  expect(response.status).toBe(200)
  const tree = await read(ColonyTree, response)
  expect(tree).toMatchObject({ colony_size: 2, fittest: null, avg_fitness: 0, cull_queue: 0 })
  expect(tree.root).toMatchObject({
    fitness: { total: 0, prediction: 0, execution: 0 },
    wallet_balance: null,
    clone_available: false,
    clone_price: '1.0 pathUSD',
    soul: { active: true, dormant: false, total_cycles: null, mode: null },
    colony: { colony_size: 2, can_spawn: false, fitness_rank: [] },
  })
  expect(tree.degraded).toContain('root.wallet_balance')
  expect(tree.degraded).toContain('root.soul.total_cycles')
  expect(tree.degraded).not.toContain('root.fitness')
  expect(tree.detail).toContain('the user has no wallet')
  expect(tree.agents[0]?.id).toBe(two)
  expect(tree.agents[1]).toEqual({
    id: one,
    name: 'One',
    generation: 1,
    fitness: 0,
    specialization: 'general',
    children: 0,
    parent: null,
    walletAddress: null,
    status: 'active',
    createdAt: new Date(clock.now().getTime() - 60_000).toISOString(),
    url: `https://${one}.agents.localhost`,
    endpoints: [],
    uptime: 60,
    version: expect.any(String),
  })
  expect(tree.agents.map(({ status }) => status)).toEqual(['stale', 'active'])
  expect(await read(ColonyTree, get('?action=tree'))).toEqual(tree)
})

test('GET /api/colony/status: 200 with fitness, fittest and weak agents and wallets from recorded data', async () => {
  const { get, ada, one, two, platform, call } = await withColony()
  await call(one, 20, 20)
  await call(two, 20, 6)
  const { wallet } = await createWallet(platform, { userId: ada.user.id, agentId: one })
  const own = await createWallet(platform, { userId: ada.user.id, agentId: null })
  const tree = await read(ColonyTree, get(''))
  expect(tree).toMatchObject({ avg_fitness: 65, cull_queue: 1, fittest: { id: one, fitness: 100 } })
  expect(tree.agents.map(({ id, fitness, walletAddress }) => [id, fitness, walletAddress])).toEqual([
    [two, 30, null],
    [one, 100, wallet.address],
  ])
  expect(tree.root).toMatchObject({
    address: own.wallet.address,
    fitness: { total: 65, prediction: 65, execution: 0 },
    wallet_balance: null,
    colony: { fitness_rank: [{ address: wallet.address, fitness: 100, rank: 1 }] },
  })
  expect(tree.detail).toContain('BASE_RPC_URL')
})

test.skipIf(!hasAnvil)(
  'GET /api/colony/status: 200 with the balance of the caller’s wallet from the chain',
  async () => {
    await using chain = await startTokenChain(8453, USDC)
    const paying = await openPaying(chain.rpcUrl)
    const { wallet } = await createWallet(paying.platform, { userId: paying.user.id, agentId: null })
    await fund(chain, USDC, wallet.address, 12_500_000n)
    const tree = await read(ColonyTree, paying.web.request('/api/colony/status', { headers: paying.cookie }))
    expect(tree.root.wallet_balance).toEqual({ formatted: '12.50 USDC', token: USDC })
    expect(tree.degraded).not.toContain('root.wallet_balance')
  },
)

test('GET /api/colony/status: 200 without the data of others for a stranger', async () => {
  const { get, eve } = await withColony()
  expect(await read(ColonyTree, get('', eve))).toMatchObject({ colony_size: 0, agents: [] })
  expect(await read(ColonySoul, get('?action=soul', eve))).toMatchObject({ active: false, dormant: true })
})

test('GET /api/colony/status?action=soul: 200 with fitness, tools and the time of the last call, null when unknown', async () => {
  const { get, one, ada, platform, clock, call } = await withColony()
  const before = await read(ColonySoul, get('?action=soul'))
  expect(before).toMatchObject({
    active: true,
    last_think_at: null,
    capability_profile: null,
    beliefs: null,
    cortex: null,
  })
  expect(before.degraded).toContain('beliefs')
  await call(one, 10, 8)
  await useTools(platform, ada.user.id, one)
  const soul = await read(ColonySoul, get('?action=soul'))
  expect(soul).toMatchObject({
    last_think_at: clock.now().getTime(),
    fitness: { total: 40, prediction: 40, coordination: 0, execution: 0, trend: null },
    role: { colony_size: 2, self_fitness: 40, can_spawn: false },
    capability_profile: {
      overall_success_rate: 0.9,
      strongest: 'read_file',
      weakest: 'web_search',
      capabilities: [
        { capability: 'read_file', attempts: 20, successes: 20, success_rate: 1 },
        { capability: 'web_search', attempts: 10, successes: 7, success_rate: 0.7 },
      ],
    },
  })
  expect(soul.degraded).toContain('fitness.trend')
})

test('GET /api/colony/status?action=diagnostics: 200 with the tool that fails most', async () => {
  const { get, ada, one, platform } = await withColony()
  expect((await read(ColonyDiagnostics, get('?action=diagnostics'))).capability_bottleneck).toBeNull()
  await useTools(platform, ada.user.id, one)
  const diagnostics = await read(ColonyDiagnostics, get('?action=diagnostics'))
  expect(diagnostics.capability_bottleneck).toEqual({ capability: 'web_search', success_rate: '70%', attempts: 10 })
  expect(diagnostics.degraded).toContain('stagnation.risk_level')
})

function useTools({ db }: { db: Db }, userId: string, agentId: string): Promise<void> {
  const of = { userId, agentId, day: '2027-01-01', timedCalls: 0, durationMs: 0 }
  return write(db, (tx) => {
    tx.insert(toolDays)
      .values([
        { ...of, toolName: 'read_file', calls: 20, successes: 20 },
        { ...of, toolName: 'web_search', calls: 10, successes: 7 },
      ])
      .run()
  })
}

test('GET /api/colony/status?action=diagnostics: 200 with the results of the tasks of own swarms', async () => {
  const { get, ada, eve, platform, clock } = await withColony()
  expect((await read(ColonyDiagnostics, get('?action=diagnostics'))).overview).toEqual({
    total_outcomes: 0,
    completed: 0,
    failed: 0,
    success_rate: 0,
  })
  await write(platform.db, (tx) => {
    const now = clock.now()
    const swarm = { id: 's', ownerId: ada.user.id, name: 's', agents: [], createdAt: now, updatedAt: now }
    tx.insert(swarms).values(swarm).run()
    const run = { id: 'r', swarmId: 's', ownerId: ada.user.id, task: 't', state: 'running', startedAt: now } as const
    tx.insert(swarmRuns).values(run).run()
    const ends = [null, null, null, 'unavailable', 'limited', 'unavailable', 'cancelled'] as const
    for (const [position, end] of ends.entries()) {
      const state = end === null ? 'completed' : end === 'cancelled' ? end : 'failed'
      const answer = { runId: 'r', agentId: `a${position}`, agentName: 'A', position, message: 't', state } as const
      tx.insert(swarmAnswers)
        .values({ ...answer, errorKind: end })
        .run()
    }
  })
  expect(await read(ColonyDiagnostics, get('?action=diagnostics'))).toMatchObject({
    overview: { total_outcomes: 6, completed: 3, failed: 3, success_rate: 0.5 },
    error_distribution: [
      { category: 'unavailable', count: 2 },
      { category: 'limited', count: 1 },
    ],
    capability_bottleneck: null,
    recommendations: null,
  })
  const hers = await read(ColonyDiagnostics, get('?action=diagnostics', eve))
  expect(hers.overview.total_outcomes).toBe(0)
})

test('GET /api/colony/status: 400 when the action is unknown, 401 without a session', async () => {
  const { get, web } = await withColony()
  const unknown = await get('?action=dance')
  expect(unknown.status).toBe(400)
  expect(await unknown.json()).toEqual({ error: 'Unknown action' })
  const anonymous = await web.request('/api/colony/status')
  expect(anonymous.status).toBe(401)
  expect(await anonymous.json()).toEqual({ error: 'Unauthorized' })
})

import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/create.ts'
import { agents } from '../../agents/registry/tables.ts'
import { swarmAnswers, swarmRuns, swarms } from '../../talk/swarms/tables.ts'
import { ColonyDiagnostics, ColonySoul, ColonyTree } from './schemas.ts'

/** Ada with an agent that runs since a minute and one that is stopped, Eve with nothing. */
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
  return { ...test, ada, eve, one, two, get }
}

test('GET /api/colony/status: 200 with the own agents, and it says what is not measured', async () => {
  const { get, one, two, clock } = await withColony()
  const response = await get('')
  expect(response.status).toBe(200)
  const tree = await read(ColonyTree, response)
  expect(tree).toMatchObject({ colony_size: 2, fittest: null, avg_fitness: 0, degraded: true })
  expect(tree.detail).toContain('not measured')
  expect(tree.root).toMatchObject({ fitness: null, wallet_balance: null, soul: { active: true, dormant: false } })
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

test('GET /api/colony/status: a stranger sees none of it', async () => {
  const { get, eve } = await withColony()
  expect(await read(ColonyTree, get('', eve))).toMatchObject({ colony_size: 0, agents: [] })
  expect(await read(ColonySoul, get('?action=soul', eve))).toMatchObject({ active: false, dormant: true })
})

test('GET /api/colony/status?action=soul: 200, null where nothing is known', async () => {
  const { get } = await withColony()
  const soul = await read(ColonySoul, get('?action=soul'))
  expect(soul).toMatchObject({ active: true, fitness: null, beliefs: [], cortex: null, degraded: true })
})

test('GET /api/colony/status?action=diagnostics: 200 with how the tasks of own swarms ended', async () => {
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
    recommendations: [],
  })
  const hers = await read(ColonyDiagnostics, get('?action=diagnostics', eve))
  expect(hers.overview.total_outcomes).toBe(0)
})

test('GET /api/colony/status: 400 for another action, 401 for nobody', async () => {
  const { get, web } = await withColony()
  const unknown = await get('?action=dance')
  expect(unknown.status).toBe(400)
  expect(await unknown.json()).toEqual({ error: 'Unknown action' })
  const nobody = await web.request('/api/colony/status')
  expect(nobody.status).toBe(401)
  expect(await nobody.json()).toEqual({ error: 'Unauthorized' })
})

import { expect, test } from 'bun:test'
import { eq, sql } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { type Member, Swarm, SwarmList, SwarmRun, SwarmRunList } from './schemas.ts'

/** Creates Ada with two agents and Eve with one, all unreachable. */
async function withAgents() {
  const test = testPlatform()
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const add = (ownerId: string, name: string) => {
    const kind = { name, model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
    const deps = { clock: test.clock, sealer: test.platform.sealer }
    return write(test.platform.db, (tx) => insertAgent(deps, tx, { ...kind, ownerId }).id)
  }
  const [one, two, foreign] = [
    await add(ada.user.id, 'One'),
    await add(ada.user.id, 'Two'),
    await add(eve.user.id, 'Hers'),
  ]
  const callerOf = (who: typeof ada) => ({
    get: (path: string) => test.web.request(path, { headers: who.cookie }),
    send: (method: 'POST' | 'PATCH' | 'DELETE', path: string, body: unknown = {}) =>
      test.web.request(path, json(method, body, who.cookie)),
  })
  const create = (body: { name?: string; agents?: Member[]; summarizer?: string } = {}) =>
    read(Swarm, callerOf(ada).send('POST', '/api/swarms', { name: 'Pair', agents: [one, two], ...body }))
  return { ...test, userIds: { ada: ada.user.id }, ada: callerOf(ada), eve: callerOf(eve), one, two, foreign, create }
}

async function expectError(response: Response | Promise<Response>, status: number, body: object) {
  const answer = await response
  expect(await answer.json()).toEqual(body)
  expect(answer.status).toBe(status)
}

const NOT_FOUND = { error: 'Swarm not found' }

test('POST /api/swarms: 201 with the swarm and its members in the given order', async () => {
  const { ada, one, two, clock } = await withAgents()
  const agents = [one, { id: two, role: 'critic', prompt: 'Be short.' }]
  const response = await ada.send('POST', '/api/swarms', {
    name: ' Pair ',
    description: 'Two heads',
    agents,
    summarizer: two,
    config: { ignored: true },
    enabled: false,
  })
  expect(response.status).toBe(201)
  expect(await response.json()).toEqual({
    id: expect.stringMatching(/^swarm_/),
    name: 'Pair',
    description: 'Two heads',
    agents,
    summarizer: two,
    enabled: true,
    createdAt: clock.now().toISOString(),
  })
})

test('POST /api/swarms: 201 with only a name', async () => {
  const { ada } = await withAgents()
  const response = await ada.send('POST', '/api/swarms', { name: 'Empty' })
  expect(await read(Swarm, response)).toMatchObject({ description: null, agents: [], summarizer: null, enabled: true })
})

test.each([
  [{}, 'Name required'],
  [{ name: '  ' }, 'Name required'],
  [{ name: 7 }, 'Name required'],
  [{ name: 'x'.repeat(101) }, 'Name too long (max 100 chars)'],
  [{ name: 'x', agents: 'one' }, 'agents must be a list of agent ids'],
  [{ name: 'x', agents: [7] }, 'agents must be a list of agent ids'],
  [{ name: 'x', agents: [{ role: 'r' }] }, 'agents must be a list of agent ids'],
  [{ name: 'x', agents: Array.from({ length: 11 }, (_, n) => `a${n}`) }, 'A swarm has at most 10 agents'],
  [{ name: 'x', agents: ['a', { id: 'a' }] }, 'agents names an agent twice'],
  [{ name: 'x', description: 7 }, 'description must be text'],
  [{ name: 'x', summarizer: 7 }, 'summarizer must be an agent id'],
  [{ name: 'x', summarizer: 'nobody' }, 'summarizer must be one of the agents'],
])('POST /api/swarms: 400 for invalid body %#, and nothing is stored', async (body, error) => {
  const { ada, platform } = await withAgents()
  await expectError(ada.send('POST', '/api/swarms', body), 400, { error })
  expect(countRows(platform.db).swarms).toBe(0)
})

test('POST and PATCH /api/swarms: 404 when an agent is missing or another user’s', async () => {
  const { ada, one, foreign, create } = await withAgents()
  const { id } = await create()
  for (const agents of [[one, foreign], ['missing'], [{ id: foreign }]]) {
    await expectError(ada.send('POST', '/api/swarms', { name: 'x', agents }), 404, { error: 'Agent not found' })
    await expectError(ada.send('PATCH', `/api/swarms/${id}`, { agents }), 404, { error: 'Agent not found' })
  }
})

test('POST /api/swarms: 429 at one hundred swarms', async () => {
  const { ada, create } = await withAgents()
  for (let count = 0; count < 100; count++) await create({ agents: [] })
  const body = { error: 'Swarm limit reached', current: 100, limit: 100 }
  await expectError(ada.send('POST', '/api/swarms', { name: 'x' }), 429, body)
})

test('GET and POST /api/swarms: 500 with their own message when the table cannot be used', async () => {
  const { ada, platform } = await withAgents()
  await write(platform.db, (tx) => tx.run(sql`ALTER TABLE swarms RENAME TO gone`))
  await expectError(ada.get('/api/swarms'), 500, { error: 'Failed to fetch swarms' })
  await expectError(ada.send('POST', '/api/swarms', { name: 'x' }), 500, { error: 'Failed to create swarm' })
})

test('GET /api/swarms: 200 with pages, newest first', async () => {
  const { ada, create } = await withAgents()
  for (const name of ['a', 'b', 'c']) await create({ name })
  const page = async (query: string) => {
    const { swarms, count, hasMore } = await read(SwarmList, ada.get(`/api/swarms${query}`))
    return { names: swarms.map(({ name }) => name).join(''), count, hasMore, last: swarms.at(-1)?.id }
  }
  expect(await page('')).toMatchObject({ names: 'cba', count: 3, hasMore: false })
  const first = await page('?limit=2')
  expect(first).toMatchObject({ names: 'cb', count: 2, hasMore: true })
  expect(await page(`?limit=2&before=${first.last}`)).toMatchObject({ names: 'a', count: 1, hasMore: false })
})

test.each(['limit=0', 'limit=101', 'limit=x'])('GET /api/swarms?%s: 400', async (query) => {
  const { ada } = await withAgents()
  await expectError(ada.get(`/api/swarms?${query}`), 400, { error: 'limit must be a whole number from 1 to 100' })
})

test('/api/swarms/:id: 404 for another user’s swarm', async () => {
  const { ada, eve, create, platform } = await withAgents()
  const swarm = await create()
  const run = await read(SwarmRun, ada.send('POST', `/api/swarms/${swarm.id}/run`, { task: 'Think' }))
  const path = `/api/swarms/${swarm.id}`
  const before = countRows(platform.db)
  await expectError(eve.get(path), 404, NOT_FOUND)
  await expectError(eve.send('PATCH', path, { name: 'Mine' }), 404, NOT_FOUND)
  await expectError(eve.send('DELETE', path), 404, NOT_FOUND)
  await expectError(eve.send('POST', `${path}/run`, { task: 'Think' }), 404, NOT_FOUND)
  await expectError(eve.get(`${path}/runs`), 404, NOT_FOUND)
  await expectError(eve.get(`${path}/runs/${run.id}`), 404, NOT_FOUND)
  await expectError(eve.send('POST', `${path}/runs/${run.id}/cancel`), 404, NOT_FOUND)
  expect((await read(SwarmList, eve.get(`/api/swarms?before=${swarm.id}`))).swarms).toEqual([])
  expect(countRows(platform.db)).toEqual(before)
  expect(await read(Swarm, ada.get(path))).toEqual(swarm)
  expect((await read(SwarmRun, ada.get(`${path}/runs/${run.id}`))).state).toBe('running')
})

test('GET /api/swarms/:id/runs/:runId: 404 when the run is of another swarm', async () => {
  const { ada, create } = await withAgents()
  const [swarm, other] = [await create(), await create()]
  const run = await read(SwarmRun, ada.send('POST', `/api/swarms/${swarm.id}/run`, { task: 'Think' }))
  for (const path of [`/api/swarms/${other.id}/runs/${run.id}`, `/api/swarms/${swarm.id}/runs/run_missing`]) {
    await expectError(ada.get(path), 404, { error: 'Run not found' })
    await expectError(ada.send('POST', `${path}/cancel`), 404, { error: 'Run not found' })
  }
})

test('PATCH /api/swarms/:id: 200 changes the given fields; 400 without any, and when the summarizer is no member', async () => {
  const { ada, one, two, create } = await withAgents()
  const swarm = await create({ summarizer: two })
  const path = `/api/swarms/${swarm.id}`
  const changed = await ada.send('PATCH', path, { name: 'Duo', description: 'd', enabled: false })
  expect(changed.status).toBe(200)
  expect(await read(Swarm, changed)).toEqual({ ...swarm, name: 'Duo', description: 'd', enabled: false })
  const error = 'summarizer must be one of the agents'
  await expectError(ada.send('PATCH', path, { agents: [one] }), 400, { error })
  expect(await read(Swarm, ada.send('PATCH', path, { agents: [one], summarizer: null }))).toMatchObject({
    agents: [one],
    summarizer: null,
  })
  await expectError(ada.send('PATCH', path, {}), 400, { error: 'Nothing to change' })
})

test('DELETE /api/swarms/:id: 200, and its runs are deleted', async () => {
  const { ada, create, platform } = await withAgents()
  const { id } = await create()
  await ada.send('POST', `/api/swarms/${id}/run`, { task: 'Think' })
  const response = await ada.send('DELETE', `/api/swarms/${id}`)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ success: true })
  expect(countRows(platform.db)).toMatchObject({ swarms: 0, swarm_runs: 0, swarm_answers: 0 })
  await expectError(ada.send('DELETE', `/api/swarms/${id}`), 404, NOT_FOUND)
})

test('swarms and their runs are deleted with their account', async () => {
  const { ada, create, platform, userIds } = await withAgents()
  const { id } = await create()
  await ada.send('POST', `/api/swarms/${id}/run`, { task: 'Think' })
  await write(platform.db, (tx) => tx.delete(users).where(eq(users.id, userIds.ada)).run())
  expect(countRows(platform.db)).toMatchObject({ swarms: 0, swarm_runs: 0, swarm_answers: 0 })
})

test.each([[{}], [{ task: ' ' }], [{ task: 7 }]])('POST /api/swarms/:id/run: 400 when the body is %j', async (body) => {
  const { ada, create } = await withAgents()
  const { id } = await create()
  await expectError(ada.send('POST', `/api/swarms/${id}/run`, body), 400, { error: 'Task required' })
})

test('POST /api/swarms/:id/run: 409 when the swarm is disabled or empty', async () => {
  const { ada, create } = await withAgents()
  const { id } = await create()
  const empty = await create({ agents: [] })
  await ada.send('PATCH', `/api/swarms/${id}`, { enabled: false })
  const run = (swarm: string) => ada.send('POST', `/api/swarms/${swarm}/run`, { task: 'Think' })
  await expectError(run(id), 409, { error: 'Swarm is disabled', code: 'SWARM_DISABLED' })
  await expectError(run(empty.id), 409, { error: 'Swarm has no agents', code: 'SWARM_EMPTY' })
})

test('POST /api/swarms/:id/run: 429 at five concurrent runs, until one is cancelled', async () => {
  const { ada, create, platform } = await withAgents()
  const { id } = await create()
  const run = () => ada.send('POST', `/api/swarms/${id}/run`, { task: 'Think' })
  const responses = await Promise.all(Array.from({ length: 8 }, run))
  expect(responses.map(({ status }) => status).sort()).toEqual([202, 202, 202, 202, 202, 429, 429, 429])
  expect(countRows(platform.db)).toMatchObject({ swarm_runs: 5, swarm_answers: 10 })
  await expectError(run(), 429, { error: 'Too many runs at once', current: 5, limit: 5 })
  const [newest] = (await read(SwarmRunList, ada.get(`/api/swarms/${id}/runs`))).runs
  const cancelled = await ada.send('POST', `/api/swarms/${id}/runs/${newest?.id}/cancel`)
  expect(await read(SwarmRun, cancelled)).toMatchObject({
    state: 'cancelled',
    agents: [{ state: 'cancelled' }, { state: 'cancelled' }],
  })
  expect((await run()).status).toBe(202)
})

test.each([
  ['GET', '/api/swarms'],
  ['POST', '/api/swarms'],
  ['GET', '/api/swarms/x'],
  ['PATCH', '/api/swarms/x'],
  ['DELETE', '/api/swarms/x'],
  ['POST', '/api/swarms/x/run'],
  ['GET', '/api/swarms/x/runs'],
  ['GET', '/api/swarms/x/runs/y'],
  ['POST', '/api/swarms/x/runs/y/cancel'],
])('%s %s: 401 without a session', async (method, path) => {
  const { web } = testPlatform()
  await expectError(web.request(path, { method }), 401, { error: 'Unauthorized' })
})

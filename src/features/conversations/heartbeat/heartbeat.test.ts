import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startHeldAgentDouble } from '../../../../tests/harness/doubles/held-agent.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { messages } from '../chat/tables.ts'
import { scheduledRuns } from '../scheduled-tasks/tables.ts'
import { heartbeatJob } from './heartbeat.ts'
import { ChangedHeartbeat, OneHeartbeat } from './schemas.ts'
import { heartbeats } from './tables.ts'

const HOUR_MS = 3_600_000
const OFF = { frequency: '3h', enabled: false, agentId: null, lastHeartbeat: null, nextHeartbeat: null }
const BAD_FREQUENCY = 'frequency must be an interval such as 30m or 3h, from 5m to 24h'

/** Creates Ada and Eve; agents are added as needed. It is noon of 20 November 2026. */
async function openTestInstallation() {
  const test = testPlatform()
  const { platform, clock, web } = test
  clock.set(new Date('2026-11-20T12:00:00Z'))
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const job = heartbeatJob(platform)
  const ask = (method: 'POST' | 'DELETE', body: unknown, who = ada) =>
    web.request('/api/heartbeat', json(method, body, who.cookie))
  return {
    ...test,
    ada,
    eve,
    ask,
    set: (body: object, who = ada) => read(ChangedHeartbeat, ask('POST', body, who)),
    get: (who = ada) => read(OneHeartbeat, web.request('/api/heartbeat', { headers: who.cookie })),
    /** Runs the periodic job once. */
    check: () => job.run(new AbortController().signal),
    addAgent: (port: number, change: Partial<AgentRow> = {}) =>
      write(platform.db, (tx) => {
        const kind = { name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
        return insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: ada.user.id, port, ...change })
      }),
    runs: () => platform.db.select().from(scheduledRuns).all(),
  }
}

test('GET /api/heartbeat: 200 with the defaults, which are off', async () => {
  const { get, platform } = await openTestInstallation()
  expect(await get()).toEqual({
    heartbeat: { ...OFF, lastUpdated: null },
    message: 'These are the defaults. The heartbeat is off: no agent is asked.',
  })
  expect(countRows(platform.db).heartbeats).toBe(0)
})

test('POST /api/heartbeat: 200 and stored, and another user’s stays unchanged', async () => {
  const { set, get, clock, eve } = await openTestInstallation()
  const stored = {
    frequency: '1h',
    enabled: true,
    agentId: null,
    lastUpdated: clock.now().toISOString(),
    lastHeartbeat: null,
    nextHeartbeat: '2026-11-20T13:00:00.000Z',
  }
  const message = 'The settings are stored. Your running agents are asked next at 2026-11-20T13:00:00.000Z.'
  expect(await set({ frequency: '1h', enabled: true, lastHeartbeat: '2020-01-01' })).toEqual({ ...stored, message })
  expect(await get()).toEqual({ heartbeat: stored, message })
  expect((await get(eve)).heartbeat).toEqual({ ...OFF, lastUpdated: null })
})

test('POST /api/heartbeat: 200 keeps omitted fields, and the next time changes only with enabled or the interval', async () => {
  const { set, clock } = await openTestInstallation()
  expect(await set({ frequency: '12h' })).toMatchObject({ frequency: '12h', enabled: false, nextHeartbeat: null })
  expect(await set({ enabled: true })).toMatchObject({ frequency: '12h', nextHeartbeat: '2026-11-21T00:00:00.000Z' })
  clock.advance(HOUR_MS)
  expect(await set({ enabled: true })).toMatchObject({ nextHeartbeat: '2026-11-21T00:00:00.000Z' })
  expect(await set({})).toMatchObject({ nextHeartbeat: '2026-11-21T00:00:00.000Z' })
  expect(await set({ frequency: '2h' })).toMatchObject({ nextHeartbeat: '2026-11-20T15:00:00.000Z' })
  expect(await set({ enabled: false })).toMatchObject({
    nextHeartbeat: null,
    message: 'The settings are stored. The heartbeat is off: no agent is asked.',
  })
})

test.each(['30m', '1h', '2h', '3h', '6h', '12h', '5m', '45m', '24h', '1440m'])(
  'POST /api/heartbeat: 200 when the frequency is %s',
  async (frequency) => {
    const { set } = await openTestInstallation()
    expect(await set({ frequency })).toMatchObject({ frequency })
  },
)

test.each<[object, string]>([
  ...['', '4m', '25h', '1441m', '0h', '1d', 'h', '3', '1.5h', '03h', ' 3h', '-3h', '3H', 'daily', 3].map(
    (frequency): [object, string] => [{ frequency }, BAD_FREQUENCY],
  ),
  [{ enabled: 'yes' }, 'enabled must be true or false'],
  [{ agentId: 7 }, 'agentId must be text'],
])('POST /api/heartbeat: 400 when the body is %j, and nothing is stored', async (body, error) => {
  const { ask, platform } = await openTestInstallation()
  const response = await ask('POST', body)
  expect([response.status, await response.json()]).toEqual([400, { error }])
  expect(countRows(platform.db).heartbeats).toBe(0)
})

test('POST /api/heartbeat: 404 when the agent is missing or another user’s', async () => {
  const { ask, addAgent, eve, platform } = await openTestInstallation()
  const { id } = await addAgent(1)
  for (const [agentId, who] of [['missing', undefined] as const, [id, eve] as const]) {
    const response = await ask('POST', { agentId, enabled: true }, who)
    expect([response.status, await response.json()]).toEqual([404, { error: 'Agent not found' }])
  }
  expect(countRows(platform.db).heartbeats).toBe(0)
})

test('DELETE /api/heartbeat: 200 with the defaults, and another user’s stay unchanged', async () => {
  const { set, get, ask, eve } = await openTestInstallation()
  await set({ frequency: '1h', enabled: true })
  await set({ frequency: '2h' }, eve)
  const response = await ask('DELETE', {})
  expect([response.status, await response.json()]).toEqual([
    200,
    { success: true, message: 'The heartbeat is reset to its defaults: off.' },
  ])
  expect((await get()).heartbeat).toEqual({ ...OFF, lastUpdated: null })
  expect((await get(eve)).heartbeat.frequency).toBe('2h')
})

test.each(['GET', 'POST', 'DELETE'] as const)('%s /api/heartbeat: 401 without a session', async (method) => {
  const { web } = testPlatform()
  const response = await web.request('/api/heartbeat', method === 'GET' ? {} : json(method, {}))
  expect([response.status, await response.json()]).toEqual([401, { error: 'Unauthorized' }])
})

test('the heartbeat job sends one message to every running agent of the owner, and sets the next time', async () => {
  const { set, get, check, addAgent, platform, clock, runs, eve } = await openTestInstallation()
  const [first, second] = [startHeldAgentDouble(), startHeldAgentDouble()]
  await addAgent(first.port)
  await addAgent(second.port)
  await addAgent(1, { status: 'stopped' })
  await addAgent(2, { ownerId: eve.user.id })
  await set({ frequency: '1h', enabled: true })
  await using _jobs = startJobs(platform)
  await check()
  expect(runs()).toEqual([])
  clock.advance(HOUR_MS)
  await Promise.all([check(), check()])
  await until('the end of all heartbeats', () => runs().every(({ status }) => status === 'succeeded'))
  expect(runs()).toHaveLength(2)
  expect([first.prompts.length, second.prompts.length]).toEqual([1, 1])
  expect(first.prompts[0]).toStartWith('Heartbeat: ')
  expect(platform.db.select().from(messages).all()).toMatchObject(
    ['user', 'user', 'agent', 'agent'].map(() => ({ topic: 'heartbeat', status: 'sent' })),
  )
  expect((await get()).heartbeat).toMatchObject({
    lastHeartbeat: '2026-11-20T13:00:00.000Z',
    nextHeartbeat: '2026-11-20T14:00:00.000Z',
  })
})

test('the heartbeat job sends a message only to a selected agent, and the heartbeat is deleted with it', async () => {
  const { set, get, check, addAgent, platform, clock, runs } = await openTestInstallation()
  const [chosen, other] = [startHeldAgentDouble(), startHeldAgentDouble()]
  const { id: agentId } = await addAgent(chosen.port)
  await addAgent(other.port)
  expect(await set({ frequency: '1h', enabled: true, agentId })).toMatchObject({
    agentId,
    message: `The settings are stored. The agent ${agentId} is asked next at 2026-11-20T13:00:00.000Z.`,
  })
  await using _jobs = startJobs(platform)
  clock.advance(HOUR_MS)
  await check()
  await until('the end of the heartbeat', () => runs().every(({ status }) => status === 'succeeded'))
  expect([chosen.prompts.length, other.prompts.length]).toEqual([1, 0])
  await write(platform.db, (tx) => tx.delete(agents).where(eq(agents.id, agentId)).run())
  expect((await get()).heartbeat.enabled).toBe(false)
})

test('the heartbeat job sends one message for missed ones, skips a busy agent, and continues when the clock is set back', async () => {
  const { set, get, check, addAgent, platform, clock, runs } = await openTestInstallation()
  const agent = startHeldAgentDouble()
  await addAgent(agent.port)
  await set({ frequency: '1h', enabled: true })
  await using _jobs = startJobs(platform)
  agent.hold()
  clock.advance(48 * HOUR_MS)
  for (let round = 0; round < 3; round++) await check()
  await until('the prompt', () => agent.prompts.length === 1)
  // Real time, because after a minute of the test clock the queue takes a job back.
  await write(platform.db, (tx) => tx.update(heartbeats).set({ nextHeartbeatAt: clock.now() }).run())
  await check()
  expect(runs()).toMatchObject([{ status: 'running' }, { status: 'skipped' }])
  agent.letGo()
  await until('the end of the heartbeat', () => runs()[0]?.status === 'succeeded')
  clock.advance(-24 * HOUR_MS)
  const lastHeartbeat = (await get()).heartbeat.lastHeartbeat
  for (let round = 0; round < 3; round++) await check()
  expect(runs()).toHaveLength(2)
  const nextHeartbeat = new Date(clock.now().getTime() + HOUR_MS).toISOString()
  expect((await get()).heartbeat).toMatchObject({ lastHeartbeat, nextHeartbeat })
})

test('the heartbeat job sends and records nothing when no agent runs', async () => {
  const { set, get, check, addAgent, clock, runs } = await openTestInstallation()
  await addAgent(1, { status: 'stopped' })
  await set({ frequency: '1h', enabled: true })
  clock.advance(HOUR_MS)
  await check()
  expect(runs()).toEqual([])
  expect((await get()).heartbeat).toMatchObject({ lastHeartbeat: null, nextHeartbeat: '2026-11-20T14:00:00.000Z' })
})

test('the heartbeat job skips disabled accounts and disabled heartbeats', async () => {
  const { set, check, addAgent, platform, clock, runs, ada } = await openTestInstallation()
  await addAgent(1)
  await set({ frequency: '1h', enabled: true })
  await write(platform.db, (tx) =>
    tx.update(users).set({ disabledAt: clock.now() }).where(eq(users.id, ada.user.id)).run(),
  )
  clock.advance(2 * HOUR_MS)
  await check()
  await write(platform.db, (tx) => tx.update(users).set({ disabledAt: null }).run())
  await set({ enabled: false })
  await check()
  expect(runs()).toEqual([])
})

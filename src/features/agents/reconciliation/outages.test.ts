import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { findFreePorts } from '../../../../tests/harness/ports.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { readEvents } from '../../../../tests/harness/wires/events.ts'
import { createBroadcast } from '../../../adapters/runtimes/contract/events.ts'
import {
  type AgentState,
  engineUnavailable,
  type Inspection,
  type Runtime,
  type RuntimeEvent,
} from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/agents.ts'
import { AgentStatusEvent, WebAgentList } from '../registry/schemas.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { followOutages } from './outages.ts'
import { createReconciler } from './reconcile.ts'

const AWAY = 'away'

/** Creates Ada's agent, a web server, in an engine with simulated inspections. */
async function openFollowed(change: Partial<AgentRow> = {}) {
  const [port = 0] = await findFreePorts(1)
  const agent = {
    state: 'running' as AgentState | typeof AWAY | null,
    exitCode: null as number | null,
    server: null as Bun.Server<undefined> | null,
    answers: Promise.resolve(),
  }
  const events = createBroadcast<RuntimeEvent>()
  let looks = 0
  const runtime: Runtime = {
    ...createNoRuntime('docker', 'Not in this test'),
    async inspect(id): Promise<Inspection | null> {
      looks += 1
      await agent.answers
      if (agent.state === AWAY) throw engineUnavailable()
      if (agent.state === null) return null
      const rest = { kind: 'stead', host: '127.0.0.1', port, image: null, version: null, startedAt: null } as const
      return { id, state: agent.state, exitCode: agent.exitCode, isOutOfMemory: false, restarts: 0, ...rest }
    },
    watch: (signal) => events.listen(signal),
  }
  const installation = testPlatform({ runtime })
  const { user, cookie } = await installation.signIn()
  const row = { id: 'ada-1', ownerId: user.id, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
  await write(installation.platform.db, (tx) => {
    insertAgent(installation.platform, tx, { ...row, status: 'running' })
    tx.update(agents)
      .set({ port, ...change })
      .where(eq(agents.id, row.id))
      .run()
  })
  const stopping = new AbortController()
  const following = followOutages(installation.platform, stopping.signal, { sweepMs: 20 })
  const list = async () =>
    (await read(WebAgentList, installation.web.request('/api/agents', { headers: cookie }))).agents[0]
  const isShown = (status: string, lastError: string | null) =>
    until(`the agent is shown as ${status}`, async () => {
      const shown = await list()
      return shown?.status === status && shown.lastError === lastError
    })
  return {
    ...installation,
    cookie,
    list,
    isShown,
    looks: () => looks,
    /** Sets the engine's inspection. */
    turns(state: typeof agent.state, exitCode: number | null = null) {
      Object.assign(agent, { state, exitCode })
    },
    /** Sets the engine's inspection and publishes an event. */
    happens(type: RuntimeEvent['type'], state: typeof agent.state, exitCode: number | null = null) {
      Object.assign(agent, { state, exitCode })
      events.publish({ id: row.id, type, at: new Date() })
    },
    listen() {
      const answer = () => Response.json({ ok: true, status: 'live' })
      agent.server = Bun.serve({ port, hostname: '127.0.0.1', fetch: answer })
    },
    /** Blocks the engine until the returned function is called. */
    keepWaiting() {
      const { promise, resolve } = Promise.withResolvers<void>()
      agent.answers = promise
      return resolve
    },
    hangUp: () => agent.server?.stop(true),
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await following
      await agent.server?.stop(true)
    },
  }
}

test('followOutages marks an agent down at once when it dies, until it responds', async () => {
  await using world = await openFollowed()
  world.listen()
  await until('the first look', () => world.looks() > 0)
  expect(await world.list()).toMatchObject({ status: 'running', lastError: null })
  await world.hangUp()
  world.happens('died', 'restarting', 137)
  await world.isShown('error', 'It ended with exit code 137, and is being started again')
  world.happens('started', 'running')
  const looks = world.looks()
  await until('more looks at one that has a process and does not answer', () => world.looks() > looks + 2)
  expect(await world.list()).toMatchObject({ status: 'error' })
  world.listen()
  await world.isShown('running', null)
})

test.each([
  ['stopped', 1, 'It ended with exit code 1'],
  ['exited', 78, 'It ended with a configuration error (exit code 78)'],
  ['restarting', null, 'It ended, and is being started again'],
  [null, null, 'It is not there: its runtime does not know it'],
] as const)('followOutages, when an agent is %p with exit code %p, sets error: %s', async (state, exitCode, reason) => {
  await using world = await openFollowed()
  world.listen()
  world.happens('changed', state, exitCode)
  await world.isShown('error', reason)
})

test('followOutages finds outages that began before its start', async () => {
  await using world = await openFollowed({ downAt: new Date(), lastError: 'It ended' })
  expect(await world.list()).toMatchObject({ status: 'error', lastError: 'It ended' })
  world.listen()
  await world.isShown('running', null)
})

test('followOutages marks no agent when the engine or the agent does not respond', async () => {
  await using world = await openFollowed()
  world.happens('changed', 'running')
  await until('the first look', () => world.looks() > 0)
  world.happens('changed', AWAY)
  const looks = world.looks()
  await until('a look', () => world.looks() > looks)
  expect(await world.list()).toMatchObject({ status: 'running', lastError: null })
})

test('followOutages marks an agent when it restarts, until it responds', async () => {
  await using world = await openFollowed()
  await until('the first look', () => world.looks() > 0)
  world.happens('died', 'running')
  await world.isShown('error', 'It ended')
  world.listen()
  await world.isShown('running', null)
})

test('followOutages marks a dead agent before a slow inspection ends', async () => {
  await using world = await openFollowed()
  world.listen()
  await until('the first look', () => world.looks() > 0)
  const answer = world.keepWaiting()
  world.happens('died', 'running')
  await world.isShown('error', 'It ended')
  answer()
  await world.isShown('running', null)
})

test('followOutages clears the mark when an agent ran before its engine stopped responding', async () => {
  await using world = await openFollowed()
  world.listen()
  await until('the first look', () => world.looks() > 0)
  const looks = world.looks()
  world.happens('died', 'running')
  await until('the look that finds it back', () => world.looks() > looks)
  world.turns(AWAY)
  await until('the next look', () => world.looks() > looks + 1)
  await world.isShown('running', null)
})

test('GET /api/agents/:id/events: 200 with down and up when an outage is short', async () => {
  await using world = await openFollowed()
  world.listen()
  await until('the first look', () => world.looks() > 0)
  const reported: string[] = []
  for await (const { data } of readEvents(
    await world.web.request('/api/agents/ada-1/events', { headers: world.cookie }),
  )) {
    const { status, error } = AgentStatusEvent.parse(JSON.parse(data))
    reported.push(error === null ? status : `${status}: ${error}`)
    if (reported.length === 1) world.happens('died', 'running')
    if (reported.length === 3) break
  }
  expect(reported).toEqual(['running', 'error: It ended', 'running'])
})

test('followOutages clears the mark when an inspection was missed', async () => {
  await using world = await openFollowed()
  world.happens('died', AWAY)
  await world.isShown('error', 'It ended')
  const looks = world.looks()
  await until('looks in vain', () => world.looks() > looks + 1)
  world.listen()
  world.turns('running')
  await world.isShown('running', null)
})

test('reconcileAgents marks an agent when its end was not reported', async () => {
  await using world = await openFollowed()
  world.listen()
  await until('the first look', () => world.looks() > 0)
  world.turns('restarting', 137)
  const reconcile = createReconciler(world.platform)
  await until('the agent is shown as down', async () => {
    // The first check may report that it was up; the next comparison finds it down.
    await reconcile()
    return (await world.list())?.lastError === 'It ended with exit code 137, and is being started again'
  })
  world.turns('running')
  await world.isShown('running', null)
})

test('followOutages checks other agents while many are down', async () => {
  await using world = await openFollowed()
  await write(world.platform.db, (tx) => {
    for (let number = 0; number < 20; number++) {
      const row = { id: `bo-${number}`, ownerId: null, name: 'Bo', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
      insertAgent(world.platform, tx, { ...row, status: 'running' })
    }
    tx.update(agents).set({ downAt: new Date(), lastError: 'It ended' }).run()
  })
  world.turns('restarting', 1)
  const reasons = () => world.platform.db.select({ lastError: agents.lastError }).from(agents).all()
  await until('all to be seen', () =>
    reasons().every(({ lastError }) => lastError === 'It ended with exit code 1, and is being started again'),
  )
})

test('followOutages changes nothing when an agent is stopped', async () => {
  await using world = await openFollowed()
  world.happens('died', 'restarting', 1)
  await world.isShown('error', 'It ended with exit code 1, and is being started again')
  await write(world.platform.db, (tx) => tx.update(agents).set({ status: 'stopped', lastError: null }).run())
  await world.isShown('stopped', null)
  const looks = world.looks()
  world.happens('died', 'restarting', 2)
  await Promise.resolve()
  expect(await world.list()).toMatchObject({ status: 'stopped', lastError: null })
  expect(world.looks()).toBeLessThanOrEqual(looks + 1)
})

test('POST /api/agents/:id/start: 200 restarts an agent when it is down', async () => {
  await using world = await openFollowed()
  world.happens('died', 'restarting', 1)
  await world.isShown('error', 'It ended with exit code 1, and is being started again')
  void world.web.request('/api/agents/ada-1/start', json('POST', {}, world.cookie))
  await world.isShown('provisioning', null)
})

test('followOutages throws when the event stream breaks, and can start again', async () => {
  const { platform } = testPlatform({ runtime: createNoRuntime('docker', 'The engine has gone') })
  const following = followOutages(platform, AbortSignal.timeout(60_000), { sweepMs: 60_000 })
  await expect(following).rejects.toThrow('The engine has gone')
})

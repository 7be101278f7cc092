import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import type { Notification } from '../../accounts/notifications/schemas.ts'
import { insertAgent } from '../registry/agents.ts'
import { agents } from '../registry/tables.ts'
import { markRevisionHealthy } from '../revisions/record.ts'
import { agentRevisions } from '../revisions/tables.ts'
import { watchdogHistoryJob } from './jobs.ts'
import type { WatchdogInput } from './next-state.ts'
import { recordEvents } from './record.ts'
import { AgentWatchdog, SimulatedFailure } from './schemas.ts'
import { watchdogEvents, watchdogs } from './tables.ts'

async function openAgent() {
  const test = testPlatform()
  const { platform, clock } = test
  const { user, cookie } = await test.signIn()
  const row = {
    ownerId: user.id,
    name: 'Ada',
    model: 'm',
    plan: 'solo',
    aiProvider: 'openrouter',
    status: 'running',
  } as const
  const agent = await write(platform.db, (tx) => insertAgent(platform, tx, row))
  const notices: Notification[] = []
  const deps = { ...platform, steady: clock, notify: (_tx: unknown, notice: Notification) => void notices.push(notice) }
  return {
    ...test,
    agent,
    cookie,
    notices,
    /** Records an event `seconds` after the previous one. */
    happen: (
      seconds: number,
      event: WatchdogInput extends infer E ? (E extends { at: number } ? Omit<E, 'at'> : never) : never,
    ) => {
      clock.advance(seconds * 1000)
      return write(platform.db, (tx) => {
        recordEvents(deps, tx, agent, [{ ...event, at: clock.now().getTime() }])
      })
    },
    path: `/api/agents/${agent.id}/watchdog`,
  }
}

test('GET /api/agents/:id/watchdog: 200 with state, history and uptime, on both APIs', async () => {
  const { web, backend, cookie, path, happen } = await openAgent()
  await happen(0, { type: 'started' })
  await happen(1, { type: 'probed', isHealthy: true })
  await happen(90, { type: 'probed', isHealthy: true })
  await happen(30, { type: 'probed', isHealthy: false, isDown: false })
  const shown = await read(AgentWatchdog, web.request(path, { headers: cookie }))
  expect(shown).toMatchObject({ state: 'degraded', attempts: 0, crashes: 0, lastProbe: { healthy: false } })
  expect(shown.events.map(({ kind, state }) => `${kind} ${state}`)).toEqual([
    'degraded degraded',
    'running running',
    'starting starting',
  ])
  expect(shown.uptime.day).toBe(100)
  const same = await read(AgentWatchdog, backend.request(path, { headers: bearer(INTERNAL_KEY) }))
  expect({ ...same, uptime: null }).toEqual({ ...shown, uptime: null })
})

test('GET /api/agents/:id/watchdog: 200 with `stopped` before the first check', async () => {
  const { web, cookie, path } = await openAgent()
  const shown = await read(AgentWatchdog, web.request(path, { headers: cookie }))
  expect(shown).toMatchObject({
    state: 'stopped',
    since: null,
    events: [],
    uptime: { day: null, week: null, month: null },
  })
})

test('GET /api/agents/:id/watchdog: 401 without a session, 404 for a stranger and for a missing agent', async () => {
  const { web, backend, signIn, cookie, path } = await openAgent()
  expect((await web.request(path)).status).toBe(401)
  expect((await backend.request(path)).status).toBe(401)
  const stranger = await signIn('bo@example.com')
  for (const response of [
    await web.request(path, { headers: stranger.cookie }),
    await web.request('/api/agents/none/watchdog', { headers: cookie }),
    await backend.request('/api/agents/none/watchdog', { headers: bearer(INTERNAL_KEY) }),
  ]) {
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: 'Agent not found' })
  }
})

test('POST /api/agents/:id/watchdog/simulate: 200 with the repairs in order, and nothing changes; 404 for a stranger', async () => {
  const { web, signIn, cookie, path, platform, agent, clock } = await openAgent()
  const simulate = (headers: Record<string, string> = cookie) =>
    web.request(`${path}/simulate`, { method: 'POST', headers })
  const restarts = Array(2).fill({ rung: 'restart', revision: null, changes: [] })
  expect(await read(SimulatedFailure, simulate())).toEqual({
    repairsItself: true,
    steps: restarts,
    retryAfterSeconds: 3600,
  })
  const known = { ...agent, updatedAt: new Date(0) }
  await write(platform.db, (tx) => markRevisionHealthy(platform, tx, known, 1000))
  const broken = { model: 'bad/model', image: 'stead-agent:2', runtime: 'docker' } as const
  await write(platform.db, (tx) => tx.update(agents).set(broken).where(eq(agents.id, agent.id)).run())
  clock.advance(1000)
  const change = (field: string, before: string | null, after: string) => ({ field, before, after, isSecret: false })
  expect((await read(SimulatedFailure, simulate())).steps).toEqual([
    ...restarts,
    { rung: 'configuration', revision: 1, changes: [change('model', 'bad/model', 'm')] },
  ])
  await write(platform.db, (tx) => tx.update(agentRevisions).set({ image: 'stead-agent:1' }).run())
  expect((await read(SimulatedFailure, simulate())).steps.slice(3)).toEqual([
    { rung: 'image', revision: 1, changes: [change('image', 'stead-agent:2', 'stead-agent:1')] },
  ])
  const stranger = await signIn('bo@example.com')
  expect((await simulate(stranger.cookie)).status).toBe(404)
  expect((await simulate({})).status).toBe(401)
  expect(platform.db.select().from(watchdogEvents).all()).toEqual([])
})

test('readUptime counts a crash loop as down until a start', async () => {
  const { web, cookie, path, happen, clock, notices } = await openAgent()
  await happen(0, { type: 'started' })
  await happen(0, { type: 'probed', isHealthy: true })
  await happen(3600, { type: 'crashed', count: 3 })
  expect(notices.map(({ kind }) => kind)).toEqual(['crash_loop'])
  clock.advance(7_200_000)
  await happen(0, { type: 'started' })
  const shown = await read(AgentWatchdog, web.request(path, { headers: cookie }))
  // Only 300 s of the first hour are known, as long as a probe holds; the next two hours are unknown.
  expect(shown.uptime.day).toBe(4)
})

test('watchdogHistoryJob keeps a month and at most 500 events per agent', async () => {
  const { platform, clock, agent, happen } = await openAgent()
  const count = () => platform.db.select().from(watchdogEvents).all().length
  const { run } = watchdogHistoryJob(platform)
  for (let times = 0; times < 255; times++) {
    await happen(1, { type: 'started' })
    await happen(1, { type: 'stopped' })
  }
  expect(count()).toBe(510)
  await run(new AbortController().signal)
  expect(count()).toBe(500)
  clock.advance(31 * 86_400_000)
  await happen(1, { type: 'started' })
  await run(new AbortController().signal)
  expect(count()).toBe(1)
  await write(platform.db, (tx) => tx.delete(agents).where(eq(agents.id, agent.id)).run())
  expect(count()).toBe(0)
  expect(platform.db.select().from(watchdogs).all()).toEqual([])
})

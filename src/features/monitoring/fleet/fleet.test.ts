import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { threadMs } from '../../../../tests/harness/speed/loop-hold.ts'
import { readEvents } from '../../../../tests/harness/wires/events.ts'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { toDay } from '../../../core/clock.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { watchdogHours } from '../../agents/watchdog/tables.ts'
import { usageDays } from '../../ai/usage/tables.ts'
import { messages } from '../../conversations/chat/tables.ts'
import { FleetChanged, FleetEvent, FleetPage } from './schemas.ts'

const HOUR_MS = 3_600_000
/** No request may block the event loop longer than this. */
const HOLD_MS = 50

const toCaller = ({ user, cookie }: { user: { id: string }; cookie: { cookie: string } }) => ({
  id: user.id,
  headers: cookie,
})

async function fleet() {
  const runtime: Runtime = {
    ...createNoRuntime('process', 'Not in this test'),
    inspect: async () => null,
    stop: async () => undefined,
    remove: async () => undefined,
  }
  const test = testPlatform({ runtime })
  const { platform, clock } = test
  clock.set(new Date('2026-11-18T12:30:00Z'))
  const ada = toCaller(await test.signIn('ada@example.com', 'network'))
  const eve = toCaller(await test.signIn('eve@example.com', 'network'))
  const add = (name: string, agent: Partial<AgentRow> = {}, ownerId = ada.id) =>
    write(platform.db, (tx) =>
      insertAgent({ clock, sealer: platform.sealer }, tx, {
        name,
        model: 'openai/gpt-4o-mini',
        plan: 'solo',
        aiProvider: 'openrouter',
        status: 'running',
        ...agent,
        ownerId,
      }),
    )
  const list = async (query = '') => read(FleetPage, await test.web.request(`/api/fleet${query}`, ada))
  return { ...test, ada, eve, add, list }
}

const idIs = (id: string | undefined) => eq(agents.id, String(id))

type Fleet = Awaited<ReturnType<typeof fleet>>

/** Records one charged model call and two messages. */
async function use({ platform, clock }: Fleet, userId: string, agentId: string, costMicroUsd: number): Promise<void> {
  const now = clock.now()
  const line = { userId, agentId, content: 'Hello', status: 'sent', createdAt: now } as const
  await write(platform.db, (tx) => {
    tx.insert(usageDays)
      .values({
        userId,
        day: toDay(now),
        agentId,
        model: 'm',
        inputTokens: 1,
        outputTokens: 1,
        costMicroUsd,
        calls: 1,
      })
      .run()
    tx.insert(messages)
      .values([
        { ...line, id: `q_${agentId}`, sender: 'user' },
        { ...line, id: `a_${agentId}`, sender: 'agent' },
      ])
      .run()
  })
}

test('GET /api/fleet: 200 with each agent’s activity of today, its hours and its labels, without agents of others', async () => {
  const f = await fleet()
  const bo = await f.add('Bo')
  const cy = await f.add('Cy', { status: 'stopped' })
  await f.add('Not hers', {}, f.eve.id)
  await use(f, f.ada.id, bo.id, 2_500)
  const hour = Math.floor(f.clock.now().getTime() / HOUR_MS)
  const spent = { agentId: bo.id, unknownMs: 0 }
  await write(f.platform.db, (tx) =>
    tx
      .insert(watchdogHours)
      .values([
        { ...spent, hour: hour - 1, upMs: 900_000, downMs: 2_700_000 },
        { ...spent, hour, upMs: 1_800_000, downMs: 0 },
        { ...spent, hour: hour - 30, upMs: 1, downMs: 0 },
      ])
      .run(),
  )
  const labelled = await f.web.request(
    `/api/agents/${bo.id}/labels`,
    json('PUT', { labels: ['shop', 'eu'] }, f.ada.headers),
  )
  expect([labelled.status, await labelled.json()]).toEqual([200, { labels: ['eu', 'shop'] }])

  const page = await f.list()
  expect(page).toMatchObject({ total: 2, statuses: { running: 1, stopped: 1 } })
  expect(page.labels).toEqual([
    { label: 'eu', agents: 1 },
    { label: 'shop', agents: 1 },
  ])
  expect(page.agents[0]).toMatchObject({
    id: bo.id,
    status: 'running',
    messagesToday: 2,
    costTodayUsd: 0.0025,
    labels: ['eu', 'shop'],
    lastActivity: '2026-11-18T12:30:00.000Z',
  })
  expect(page.agents[0]?.uptime).toEqual([...Array(28).fill(null), 25, 100])
  expect(page.agents[1]).toMatchObject({ id: cy.id, messagesToday: 0, costTodayUsd: 0, lastActivity: null })
  f.clock.advance(24 * HOUR_MS)
  expect((await f.list()).agents[0]).toMatchObject({ messagesToday: 0, costTodayUsd: 0 })
})

test('GET /api/fleet: 200 filtered by words, status and label, sorted and in pages', async () => {
  const f = await fleet()
  const names = ['ann', 'Bea', '100% Cleo', 'Dora']
  const made = await Promise.all(names.map((name) => f.add(name)))
  const [ann, bea, cleo, dora] = made.map(({ id }) => id)
  await write(f.platform.db, (tx) => tx.update(agents).set({ downAt: f.clock.now() }).where(idIs(dora)).run())
  await use(f, f.ada.id, bea ?? '', 10)
  await use(f, f.ada.id, cleo ?? '', 90)
  await f.web.request(`/api/agents/${ann}/labels`, json('PUT', { labels: ['shop'] }, f.ada.headers))
  const idsOf = async (query: string) => (await f.list(query)).agents.map(({ id }) => id)
  expect(await idsOf('')).toEqual([cleo, ann, bea, dora].map(String))
  expect(await idsOf('?order=desc')).toEqual([dora, bea, ann, cleo].map(String))
  expect(await idsOf('?sort=status')).toEqual([dora, cleo, ann, bea].map(String))
  expect(await idsOf('?sort=cost&limit=2')).toEqual([cleo, bea].map(String))
  expect(await idsOf('?sort=activity&limit=1&offset=1')).toEqual([String(bea)])
  expect(await idsOf('?search=0%25')).toEqual([String(cleo)])
  expect(await f.list('?label=shop')).toMatchObject({ total: 1, statuses: { running: 1 } })
  expect(await idsOf('?label=shop')).toEqual([String(ann)])
  expect(await f.list('?status=error&search=d')).toMatchObject({ total: 1, statuses: { error: 1 } })
  expect(await f.list('?status=stopped')).toMatchObject({ total: 0, agents: [], statuses: { running: 3, error: 1 } })
  for (const query of ['limit=101', 'limit=0', 'offset=-1', 'sort=age', 'status=well', `search=${'x'.repeat(101)}`]) {
    expect([query, (await f.web.request(`/api/fleet?${query}`, f.ada)).status]).toEqual([query, 400])
  }
})

test('GET /api/fleet: 401 without a session', async () => {
  const { web } = testPlatform()
  expect((await web.request('/api/fleet')).status).toBe(401)
})

test('GET /api/fleet: 200 with 1,000 agents without blocking the event loop for 50 ms', async () => {
  const f = await fleet()
  await addMany(f, 1_000)
  for (const query of ['', '?sort=cost', '?sort=activity', '?sort=status&offset=900', '?search=9']) {
    await f.list(query)
    const before = threadMs()
    const page = await f.list(query)
    const spentMs = threadMs() - before
    expect([query, page.total > 200, spentMs < HOLD_MS]).toEqual([query, true, true])
  }
})

/** Inserts agents with a day of messages and 36 hours of uptime each. */
async function addMany(f: Fleet, count: number): Promise<void> {
  const hour = Math.floor(f.clock.now().getTime() / HOUR_MS)
  const made = await Promise.all(Array.from({ length: count }, (_, i) => f.add(`Agent ${String(i).padStart(4, '0')}`)))
  await Promise.all(made.map(({ id }, i) => use(f, f.ada.id, id, i)))
  await write(f.platform.db, (tx) => {
    for (const { id: agentId } of made) {
      const full = { agentId, upMs: HOUR_MS, downMs: 0, unknownMs: 0 }
      tx.insert(watchdogHours)
        .values(Array.from({ length: 36 }, (_, back) => ({ ...full, hour: hour - back })))
        .run()
    }
  })
}

test('GET /api/fleet/events: 200 streams changed and deleted agents of the user only', async () => {
  const f = await fleet()
  const bo = await f.add('Bo')
  const stream = await f.web.request('/api/fleet/events', f.ada)
  expect(stream.status).toBe(200)
  const events = readEvents(stream)
  const next = async () => FleetEvent.parse(JSON.parse(String((await events.next()).value?.data)))
  expect(await next()).toEqual({ changed: [], gone: [] })
  await f.add('Not hers', {}, f.eve.id)
  await write(f.platform.db, (tx) => tx.update(agents).set({ status: 'stopped' }).where(idIs(bo.id)).run())
  expect(await next()).toMatchObject({ changed: [{ id: bo.id, status: 'stopped' }], gone: [] })
  await use(f, f.ada.id, bo.id, 1_000_000)
  expect(await next()).toMatchObject({ changed: [{ id: bo.id, messagesToday: 2, costTodayUsd: 1 }] })
  await write(f.platform.db, (tx) => tx.delete(agents).where(idIs(bo.id)).run())
  expect(await next()).toEqual({ changed: [], gone: [bo.id] })
  await events.return(undefined)
})

test('POST /api/fleet/changes: 200 with a result per agent, not found for agents of other users', async () => {
  const f = await fleet()
  const bo = await f.add('Bo')
  const cy = await f.add('Cy')
  const hers = await f.add('Not hers', {}, f.eve.id)
  const change = (body: unknown) => f.web.request('/api/fleet/changes', json('POST', body, f.ada.headers))
  const stopped = await change({ verb: 'stop', agentIds: [bo.id, hers.id, 'agent-missing'] })
  expect(await read(FleetChanged, stopped)).toEqual({
    results: [
      { id: bo.id, error: null },
      { id: hers.id, error: 'Agent not found' },
      { id: 'agent-missing', error: 'Agent not found' },
    ],
  })
  const deleted = await change({ verb: 'delete', agentIds: [bo.id, cy.id, hers.id] })
  expect((await read(FleetChanged, deleted)).results.map(({ error }) => error)).toEqual([null, null, 'Agent not found'])
  expect((await f.list()).total).toBe(0)
  expect(f.platform.db.select({ status: agents.status }).from(agents).all()).toEqual([{ status: 'running' }])
  for (const body of [{ verb: 'paint', agentIds: [cy.id] }, { verb: 'stop', agentIds: [] }, { verb: 'stop' }]) {
    expect((await change(body)).status).toBe(400)
  }
  const many = Array.from({ length: 21 }, (_, i) => `agent-${i}`)
  expect((await change({ verb: 'stop', agentIds: many })).status).toBe(400)
})

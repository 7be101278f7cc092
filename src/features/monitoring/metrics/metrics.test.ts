import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, read } from '../../../../tests/harness/requests.ts'
import { agentNotRunning, type Runtime, type RuntimeStats } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { deploymentHistory } from '../../agents/operations/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { usageLogs } from '../../ai/usage/tables.ts'
import { messages } from '../../conversations/chat/tables.ts'
import { creditsOf, platformAccount } from '../../payments/ledger/accounts.ts'
import { post, transfer } from '../../payments/ledger/post.ts'
import { installedSkills } from '../../payments/skills/tables.ts'
import { bookings } from '../../payments/underground/tables.ts'
import { sampleAgents } from './sample.ts'
import { HistoricalMetrics, MetricsSummary, PerformanceMetrics, PlatformMetrics } from './schemas.ts'
import { agentMetricHours, agentMetrics } from './tables.ts'

const OPERATOR = bearer(INTERNAL_KEY)
const GIGABYTE = 1024 ** 3
const STATS: RuntimeStats = {
  cpuPercent: 10,
  memoryBytes: GIGABYTE / 4,
  memoryLimitBytes: GIGABYTE,
  processes: 1,
  uptimeMs: 1000,
  networkInBytes: null,
  networkOutBytes: null,
  diskReadBytes: null,
  diskWriteBytes: null,
}

/** A platform whose runtime returns `use` for each agent, a measurement or an error. The time is Wednesday noon. */
async function measured() {
  const use = new Map<string, RuntimeStats | AppError>()
  const runtime: Runtime = {
    ...createNoRuntime('process', 'Not in this test'),
    async stats(id) {
      const found = use.get(id) ?? agentNotRunning()
      if (found instanceof AppError) throw found
      return found
    },
  }
  const test = testPlatform({ runtime })
  const { platform, clock } = test
  clock.set(new Date('2026-11-18T12:30:00Z'))
  const ada = await test.signIn('ada@example.com', 'solo')
  const eve = await test.signIn('eve@example.com')
  let lastPort = 20_000
  const add = (id: string, ownerId: string, status: AgentRow['status'] = 'running') =>
    write(platform.db, (tx) => {
      lastPort += 1
      const kind = { name: id, model: 'm', plan: 'solo', aiProvider: 'openrouter', status }
      insertAgent(platform, tx, { ...kind, id, ownerId })
      tx.update(agents).set({ port: lastPort }).where(eq(agents.id, id)).run()
    })
  let lastMessage = 0
  const say = (agentId: string, userId: string, status: 'sent' | 'failed' = 'sent', createdAt = clock.now()) =>
    write(platform.db, (tx) => {
      lastMessage += 1
      const row = {
        id: `msg_${lastMessage}`,
        agentId,
        userId,
        sender: 'user',
        content: 'Hi',
        status,
        createdAt,
      } as const
      tx.insert(messages).values(row).run()
    })
  const sample = async (minutes = 1) => {
    clock.advance(minutes * 60_000)
    await sampleAgents(platform)
  }
  const history = (query = '', userId = ada.user.id) =>
    test.backend.request(`/api/metrics/${userId}/historical${query}`, { headers: OPERATOR })
  const performance = (userId = ada.user.id) =>
    read(PerformanceMetrics, test.backend.request(`/api/metrics/${userId}/performance`, { headers: OPERATOR }))
  const overview = async (cookie = ada.cookie) =>
    (await read(PlatformMetrics, test.web.request('/api/metrics', { headers: cookie }))).metrics
  return { ...test, use, ada, eve, add, say, sample, history, performance, overview }
}

test('GET /api/metrics/:userId/historical: 200 with hours of the user’s agents only, and rounded averages', async () => {
  const { use, ada, eve, add, say, sample, history } = await measured()
  await add('ada-1', ada.user.id)
  await add('ada-2', ada.user.id)
  await add('eve-1', eve.user.id)
  use.set('ada-1', STATS).set('ada-2', { ...STATS, cpuPercent: 31, memoryBytes: GIGABYTE / 2 })
  use.set('eve-1', { ...STATS, cpuPercent: 99 })
  await sample()
  await say('ada-1', ada.user.id)
  await say('ada-2', ada.user.id, 'failed')
  await say('eve-1', eve.user.id)
  await sample()
  await sample(60)
  const answer = await read(HistoricalMetrics, history())
  expect(answer).toEqual({
    userId: ada.user.id,
    timeRange: '24h',
    metrics: [
      { timestamp: '2026-11-18T12:00:00.000Z', cpu: 20.5, memory: 37.5, messages: 2, errors: 1 },
      { timestamp: '2026-11-18T13:00:00.000Z', cpu: 20.5, memory: 37.5, messages: 0, errors: 0 },
    ],
    averages: { cpu: 21, memory: 38, messages: 1, errors: 1 },
  })
})

test('GET /api/metrics/:userId/historical: 200 with the hours of each range, without deleted old ones', async () => {
  const { platform, use, ada, add, sample, history } = await measured()
  await add('ada-1', ada.user.id)
  use.set('ada-1', STATS)
  for (const days of [0, 20, 10, 5, 0.5]) await sample(days * 24 * 60)
  const count = async (query: string) => (await read(HistoricalMetrics, history(query))).metrics.length
  expect([await count('?range=24h'), await count('?range=7d'), await count('?range=30d')]).toEqual([2, 3, 4])
  expect(platform.db.select().from(agentMetrics).all()).toHaveLength(2)
  expect(platform.db.select().from(agentMetricHours).all()).toHaveLength(4)
})

test('GET /api/metrics/:userId/historical: 200 with current use before the first sample, and nothing without agents', async () => {
  const { clock, use, ada, eve, add, history } = await measured()
  await add('ada-1', ada.user.id)
  await add('ada-2', ada.user.id)
  use.set('ada-1', STATS)
  const now = await read(HistoricalMetrics, history())
  expect(now.metrics).toEqual([{ timestamp: clock.now().toISOString(), cpu: 10, memory: 25, messages: 0, errors: 0 }])
  const nothing = await read(HistoricalMetrics, history('', eve.user.id))
  expect(nothing).toMatchObject({ metrics: [], averages: { cpu: null, memory: null, messages: null, errors: null } })
})

test('a sample has no CPU and memory when the agent is down, and is omitted when the agent does not respond', async () => {
  const { use, ada, add, sample, history, overview } = await measured()
  await add('ada-1', ada.user.id, 'error')
  use.set('ada-1', agentNotRunning())
  await sample()
  const { metrics, averages } = await read(HistoricalMetrics, history())
  expect(metrics).toMatchObject([{ cpu: null, memory: null }])
  expect(averages).toMatchObject({ cpu: null, memory: null })
  expect((await overview()).uptime.averageAgentUptime).toBe(0)
  use.set('ada-1', new AppError('unavailable', 'The engine does not answer'))
  await sample()
  expect((await overview()).uptime.averageAgentUptime).toBe(0)
  use.set('ada-1', STATS)
  await sample()
  await sample()
  await sample()
  expect((await overview()).uptime.averageAgentUptime).toBe(75)
})

test('GET /api/metrics/:userId/performance: 200 with the latest samples and the calls of 24 h; unknown values are null', async () => {
  const { platform, clock, use, ada, add, sample, performance } = await measured()
  await add('ada-1', ada.user.id)
  await add('ada-2', ada.user.id)
  expect(await performance()).toEqual({ cpu: null, memory: null, errorRate: null, responseTime: null })
  use.set('ada-1', STATS).set('ada-2', { ...STATS, cpuPercent: 20 })
  await sample()
  const call = (success: boolean, latencyMs: number, hoursAgo: number) => ({
    userId: ada.user.id,
    agentId: 'ada-1',
    model: 'm',
    success,
    latencyMs,
    createdAt: new Date(clock.now().getTime() - hoursAgo * 3_600_000),
  })
  const calls = [
    call(true, 100, 1),
    call(true, 200, 2),
    call(true, 301, 3),
    call(false, 9000, 4),
    call(false, 9000, 25),
  ]
  await write(platform.db, (tx) => void tx.insert(usageLogs).values(calls).run())
  expect(await performance()).toEqual({ cpu: 15, memory: 25, errorRate: 25, responseTime: 200 })
  clock.advance(6 * 60_000)
  expect(await performance()).toMatchObject({ cpu: null, memory: null, errorRate: 25 })
})

test('GET /api/metrics/:userId/summary: 200 with zeros when a user has no records; `degraded` lists unknown fields', async () => {
  const { backend, ada } = await measured()
  const response = await backend.request(`/api/metrics/${ada.user.id}/summary`, { headers: OPERATOR })
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    revenue: { month: '$0.00', total: '$0.00', change: '+0%' },
    bookings: { completed: 0, pending: 0, conversion: '0%' },
    fans: { total: null, active: null, growth: null, segmentation: { superfans: null, casual: null, new: null } },
    streams: { monthlyListeners: null, monthlyStreams: null, growth: null },
    skills: { active: 0, total: 0, growth: '+0%' },
    degraded: [
      'fans.total',
      'fans.active',
      'fans.growth',
      'fans.segmentation.superfans',
      'fans.segmentation.casual',
      'fans.segmentation.new',
      'streams.monthlyListeners',
      'streams.monthlyStreams',
      'streams.growth',
    ],
    detail: expect.any(String),
  })
})

test('GET /api/metrics/:userId/summary: 200 with revenue from ledger, bookings and skills', async () => {
  const { backend, ada, eve, platform, clock, add } = await measured()
  await add('one', ada.user.id)
  const { db } = platform
  const summary = async (userId: string) =>
    read(MetricsSummary, backend.request(`/api/metrics/${userId}/summary`, { headers: OPERATOR }))
  const earn = (cause: string, dollars: number) =>
    write(db, (tx) => {
      const amount = dollars * 1_000_000
      const lines = [
        { account: creditsOf(ada.user.id), amount },
        { account: creditsOf(eve.user.id), amount: -amount },
      ]
      post(tx, platform, { cause, memo: 'm', lines })
    })
  await write(db, (tx) =>
    transfer(tx, platform, {
      cause: 'card',
      memo: 'Card',
      from: platformAccount('cards', 'USD'),
      to: creditsOf(eve.user.id),
      amount: 1_000_000_000,
    }),
  )
  await earn('ticket:tkt_1:sale', 40)
  await addSkill(platform, ada.user.id, 'tour-planner', true)
  clock.advance(32 * 24 * 3_600_000)
  await earn('ticket:tkt_2:sale', 60)
  await earn('escrow:bok_1:release', 10)
  await earn('ticket:tkt_1:refund', -10)
  await earn('gift', 500)
  await addSkill(platform, ada.user.id, 'venue-finder', false)
  await addBookings(platform, ada.user.id, ['confirmed', 'confirmed', 'offered', 'declined'])
  expect(await summary(ada.user.id)).toMatchObject({
    revenue: { month: '$60.00', total: '$100.00', change: '+50%' },
    bookings: { completed: 2, pending: 1, conversion: '50%' },
    skills: { active: 1, total: 2, growth: '+100%' },
  })
  expect(await summary(eve.user.id)).toMatchObject({
    // A refund that she received is no revenue.
    revenue: { month: '$0.00', total: '$0.00', change: '+0%' },
    bookings: { completed: 0, pending: 0, conversion: '0%' },
    skills: { active: 0, total: 0 },
  })
})

type Records = { db: Db; clock: Clock }

function addSkill({ db, clock }: Records, userId: string, skillId: string, enabled: boolean): Promise<void> {
  return write(db, (tx) => {
    const agent = tx.select().from(agents).where(eq(agents.ownerId, userId)).get()
    const row = { id: `ins_${skillId}`, userId, agentId: agent?.id ?? '', skillId, enabled, createdAt: clock.now() }
    tx.insert(installedSkills).values(row).run()
  })
}

function addBookings({ db, clock }: Records, payeeId: string, statuses: ('confirmed' | 'offered' | 'declined')[]) {
  const now = clock.now()
  const amounts = { guaranteeMicroUsd: 1, backendMicroUsd: 0, depositMicroUsd: 0 }
  return write(db, (tx) => {
    for (const [index, status] of statuses.entries()) {
      const names = { id: `bok_${index}`, messageId: `m${index}`, payeeId, talentName: 'Ada', venue: 'Cellar' }
      tx.insert(bookings)
        .values({ ...names, ...amounts, gigAt: now, status, createdAt: now, updatedAt: now })
        .run()
    }
  })
}

test.each(['historical', 'performance', 'summary'])(
  'GET /api/metrics/:userId/%s: 404 for another user and an unknown id, 401 and 403 without the key',
  async (name) => {
    const { backend, ada, eve } = await measured()
    const path = (userId: string) => `/api/metrics/${userId}/${name}`
    const asEve = { ...OPERATOR, 'x-user-id': eve.user.id }
    const foreign = await backend.request(path(ada.user.id), { headers: asEve })
    expect(foreign.status).toBe(404)
    expect(await foreign.json()).toEqual({ error: 'User not found' })
    expect((await backend.request(path(eve.user.id), { headers: asEve })).status).toBe(200)
    expect((await backend.request(path('usr_nobody'), { headers: OPERATOR })).status).toBe(404)
    expect((await backend.request(path(ada.user.id))).status).toBe(401)
    expect((await backend.request(path(ada.user.id), { headers: bearer('wrong') })).status).toBe(403)
  },
)

test('GET /api/metrics/:userId/historical: 400 when the range is unknown', async () => {
  const { history } = await measured()
  const response = await history('?range=1y')
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error: 'range must be 24h, 7d or 30d' })
})

test('GET /api/metrics: 200 with figures from the user’s own rows', async () => {
  const { platform, clock, web, use, ada, eve, add, say, sample } = await measured()
  await add('ada-1', ada.user.id)
  await add('ada-2', ada.user.id, 'stopped')
  await add('ada-3', ada.user.id, 'error')
  await add('eve-1', eve.user.id)
  use.set('ada-1', STATS)
  const at = (text: string) => new Date(text)
  await say('ada-1', ada.user.id, 'sent', at('2026-10-31T23:59:59Z'))
  await say('ada-1', ada.user.id, 'sent', at('2026-11-01T00:00:00Z'))
  await say('ada-1', ada.user.id, 'sent', at('2026-11-15T23:59:59Z'))
  await say('ada-1', ada.user.id, 'sent', at('2026-11-16T00:00:00Z'))
  await say('ada-1', ada.user.id, 'failed', at('2026-11-18T00:00:00Z'))
  await say('eve-1', eve.user.id)
  const operation = (kind: 'deploy' | 'update' | 'repair', result: 'succeeded' | 'failed' | 'rolled-back' | null) => ({
    ...({ agentId: 'ada-1', requestedBy: ada.user.id, statusBefore: 'running', step: 'done' } as const),
    kind,
    result,
    requestedAt: clock.now(),
  })
  const operations = [
    operation('deploy', 'succeeded'),
    operation('deploy', 'failed'),
    operation('update', 'rolled-back'),
    operation('update', null),
    operation('repair', 'succeeded'),
  ]
  await write(platform.db, (tx) => void tx.insert(deploymentHistory).values(operations).run())
  await sample()
  await sample()
  const response = await web.request('/api/metrics', { headers: ada.cookie })
  const { metrics, ...rest } = await read(PlatformMetrics, response)
  expect(rest).toEqual({ timestamp: clock.now().toISOString(), status: 'ok', plan: 'solo' })
  expect(metrics).toMatchObject({
    agents: { total: 3, active: 1, inactive: 1, failed: 1 },
    messages: { today: 1, thisWeek: 2, thisMonth: 4 },
    deployments: { total: 4, successful: 1, failed: 2 },
    uptime: { platformUptime: 100, averageAgentUptime: 50 },
    performance: { averageResponseTime: null, successRate: null, errorRate: null, cpu: 10, memory: 25 },
  })
  expect(metrics.storage.used).toBeGreaterThan(0)
  expect(metrics.storage.total).toBeGreaterThan(metrics.storage.used)
  expect(metrics.storage.percentUsed).toBeCloseTo((metrics.storage.used / metrics.storage.total) * 100, 0)
})

test('GET /api/metrics: 200 with zero counts and null for unmeasured values when a user has no agents', async () => {
  const { web, overview } = await measured()
  const metrics = await overview()
  expect(metrics).toMatchObject({
    agents: { total: 0, active: 0, inactive: 0, failed: 0 },
    messages: { today: 0, thisWeek: 0, thisMonth: 0 },
    deployments: { total: 0, successful: 0, failed: 0 },
    uptime: { platformUptime: null, averageAgentUptime: null },
    performance: { averageResponseTime: null, successRate: null, errorRate: null, cpu: null, memory: null },
  })
  expect((await web.request('/api/metrics')).status).toBe(401)
})

test('the platform’s uptime counts a gap between samples as downtime', async () => {
  const { sample, overview } = await measured()
  await sample()
  for (let minute = 0; minute < 30; minute += 1) await sample()
  expect((await overview()).uptime.platformUptime).toBe(100)
  await sample(10)
  expect((await overview()).uptime.platformUptime).toBe(75)
})

test('GET /api/metrics: 500 with the expected body when the figures cannot be read', async () => {
  const { platform, web, ada } = await measured()
  const logged: unknown[] = []
  const broken = { ...platform, measureDisk: () => Promise.reject(new Error('no such disk')) }
  const { metricsWeb } = await import('./routes.ts')
  const { errorHandler } = await import('../../../http/errors.ts')
  const app = metricsWeb(broken)
  app.onError(errorHandler({ ...platform.log, error: (...line: unknown[]) => void logged.push(line) } as never))
  const response = await app.request('/api/metrics', { headers: ada.cookie }, { api: 'web', address: null })
  expect(response.status).toBe(500)
  expect(await response.json()).toEqual({ error: 'Failed to fetch metrics', metrics: {} })
  expect(logged).toHaveLength(1)
  expect((await web.request('/api/metrics', { headers: ada.cookie })).status).toBe(200)
})

import { expect, test } from 'bun:test'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { usageDays, usageLogs } from '../../ai/usage/tables.ts'
import { messageDays, messages } from '../../conversations/chat/tables.ts'
import { AgentHistory } from './schemas.ts'
import { agentMetricHours, agentMetrics } from './tables.ts'

const NOW = new Date('2026-11-18T12:30:00Z')
const NOTHING = { messages: 0, failed: 0, calls: 0, tokens: 0, costUsd: 0 }

/** Ada's agent has samples, messages and model calls; Eve has none. The time is Wednesday, 12:30. */
async function withHistory() {
  const test = testPlatform()
  const { platform, clock } = test
  clock.set(NOW)
  const ada = await test.signIn('ada@example.com', 'solo')
  const eve = await test.signIn('eve@example.com')
  const kind = { name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  const at = (text: string) => new Date(`2026-11-${text}Z`)
  const userId = ada.user.id
  await write(platform.db, (tx) => {
    insertAgent(platform, tx, { ...kind, id: 'ada-1', ownerId: userId })
    const sample = { agentId: 'ada-1', memoryBytes: 256, memoryLimitBytes: 1024, messages: 0, errors: 0 }
    tx.insert(agentMetrics)
      .values({ ...sample, sampledAt: at('18T12:29:10'), cpuPercent: 12.34 })
      .run()
    const hour = { agentId: 'ada-1', samples: 2, measured: 2, memoryPercentSum: 50 }
    tx.insert(agentMetricHours)
      .values({ ...hour, hour: at('18T10:00:00'), cpuPercentSum: 30 })
      .run()
    const line = { agentId: 'ada-1', userId, content: 'Hi' }
    tx.insert(messages)
      .values([
        { ...line, id: 'm1', sender: 'user', status: 'sent', createdAt: at('18T12:28:00') },
        { ...line, id: 'm2', sender: 'agent', status: 'sent', createdAt: at('18T12:28:01') },
        { ...line, id: 'm3', sender: 'user', status: 'failed', createdAt: at('18T09:00:00') },
      ])
      .run()
    tx.insert(messageDays)
      .values([{ agentId: 'ada-1', day: '2026-11-01', asked: 5, failed: 0, answered: 5 }])
      .run()
    const call = { userId, agentId: 'ada-1', model: 'm', inputTokens: 100, outputTokens: 50, costMicroUsd: 250_000 }
    tx.insert(usageLogs)
      .values([
        { ...call, createdAt: at('18T12:28:00') },
        { ...call, createdAt: at('18T12:28:30'), agentId: 'other' },
        { ...call, createdAt: at('18T09:30:00') },
      ])
      .run()
    tx.insert(usageDays)
      .values([
        { ...call, day: '2026-11-18', calls: 2, inputTokens: 200, outputTokens: 100, costMicroUsd: 500_000 },
        { ...call, day: '2026-11-18', calls: 1, agentId: 'other' },
        { ...call, day: '2026-11-01', calls: 4, costMicroUsd: 1_000_000 },
      ])
      .run()
  })
  const historyOf = (query: string, headers: Record<string, string> = ada.cookie) =>
    test.web.request(`/api/agents/ada-1/metrics${query}`, { headers })
  return { ...test, eve, historyOf }
}

test('GET /api/agents/:id/metrics: 200 with an hour in steps of one and five minutes, from samples, messages and calls', async () => {
  const { historyOf } = await withHistory()
  const history = await read(AgentHistory, historyOf('?range=1h'))
  expect([history.loadSeconds, history.useSeconds, history.load.length, history.use.length]).toEqual([60, 300, 60, 12])
  expect(history.load.at(-2)).toEqual({ at: '2026-11-18T12:29:00.000Z', cpu: 12.3, memory: 25 })
  expect(history.load.at(-1)).toEqual({ at: '2026-11-18T12:30:00.000Z', cpu: null, memory: null })
  expect(history.use.at(-2)).toEqual({
    at: '2026-11-18T12:25:00.000Z',
    messages: 1,
    failed: 0,
    calls: 1,
    tokens: 150,
    costUsd: 0.25,
  })
  expect(history.totals).toEqual({ messages: 1, failed: 0, calls: 1, tokens: 150, costUsd: 0.25 })
})

test('GET /api/agents/:id/metrics: 200 with a day by hours and a month by days, whose totals are the sums of their parts', async () => {
  const { historyOf } = await withHistory()
  const day = await read(AgentHistory, historyOf(''))
  expect([day.range, day.load.length, day.use.length]).toEqual(['24h', 24, 24])
  expect(day.load.find(({ cpu }) => cpu !== null)).toEqual({ at: '2026-11-18T10:00:00.000Z', cpu: 15, memory: 25 })
  expect(day.totals).toEqual({ messages: 2, failed: 1, calls: 2, tokens: 300, costUsd: 0.5 })
  const week = await read(AgentHistory, historyOf('?range=7d'))
  expect([week.load.length, week.use.length, week.totals]).toEqual([168, 7, day.totals])
  const month = await read(AgentHistory, historyOf('?range=30d'))
  expect(month.use.at(-1)).toEqual({ at: '2026-11-18T00:00:00.000Z', ...day.totals })
  expect(month.totals).toEqual({ messages: 7, failed: 1, calls: 6, tokens: 450, costUsd: 1.5 })
  const sums = { ...NOTHING }
  for (const { at: _at, ...part } of month.use) {
    for (const name of ['messages', 'failed', 'calls', 'tokens', 'costUsd'] as const) sums[name] += part[name] ?? 0
  }
  expect(month.totals).toEqual(sums)
})

test("GET /api/agents/:id/metrics: 400 when the range is unknown, 404 for a stranger's agent, 401 without a session, 200 for the operator", async () => {
  const { backend, eve, historyOf } = await withHistory()
  const refused = await historyOf('?range=2h')
  expect([refused.status, await refused.json()]).toEqual([400, { error: 'range must be 1h, 24h, 7d or 30d' }])
  expect((await historyOf('', eve.cookie)).status).toBe(404)
  expect((await historyOf('', {})).status).toBe(401)
  const seen = await backend.request('/api/agents/ada-1/metrics', { headers: bearer(INTERNAL_KEY) })
  expect((await read(AgentHistory, seen)).totals.messages).toBe(2)
})

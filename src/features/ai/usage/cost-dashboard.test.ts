import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { newId } from '../../../core/ids.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { UNCACHED, type UsageEvent } from './rows/event.ts'
import { CostDashboard } from './schemas.ts'

const DAY_MS = 86_400_000
const MINI = 'openai/gpt-4o-mini'
const BIG = 'openai/gpt-4o'

/** Ada is signed in on March 17, 2100, and can use what `use` books for her. */
async function onMarch17() {
  const logLines: string[] = []
  const test = testPlatform({ logLines })
  test.clock.set(new Date('2100-03-17T10:00:00Z'))
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const { platform, clock, web } = test
  return {
    ...test,
    ada,
    eve,
    logLines,
    use: async (event: Partial<UsageEvent> & { daysAgo?: number } = {}) => {
      const { daysAgo = 0, ...rest } = event
      const now = clock.now()
      clock.advance(-daysAgo * DAY_MS)
      const usual = {
        ...UNCACHED,
        agentId: 'ada-1',
        model: MINI,
        inputTokens: 1000,
        outputTokens: 500,
        costMicroUsd: 450,
      }
      const served = {
        generationId: newId('gen'),
        keyId: null,
        provider: 'openrouter',
        attempts: 1,
        isOwnKey: false,
        isEstimated: false,
      }
      const call = { ...served, endpoint: '/v1/chat/completions', latencyMs: 1, errorMessage: null }
      platform.usage.record({ userId: ada.user.id, ...usual, ...call, ...rest })
      await platform.usage.flush()
      clock.set(now)
    },
    cost: (query = '', who = ada) =>
      read(CostDashboard, web.request(`/api/dashboard/cost${query}`, { headers: who.cookie })),
  }
}

test('GET /api/dashboard/cost: 401 without a session', async () => {
  const { web } = testPlatform()
  expect((await web.request('/api/dashboard/cost')).status).toBe(401)
})

test.each(['1d', '', 'year'])('GET /api/dashboard/cost: 400 for the period %p', async (period) => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const response = await web.request(`/api/dashboard/cost?period=${period}`, { headers: cookie })
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error: 'period must be 7d, 30d or mtd' })
})

test('GET /api/dashboard/cost: 200 with a marked sample when the user has no usage', async () => {
  const { cost, logLines } = await onMarch17()
  const dashboard = await cost()
  expect(dashboard).toMatchObject({ period: '7d', isMockData: true, message: expect.stringContaining('sample') })
  expect(dashboard.daily).toHaveLength(7)
  expect(logLines.map((line) => JSON.parse(line).msg)).toEqual(['[Cost API] Found 0 usage logs'])
})

test('GET /api/dashboard/cost: 200 and the log line counts calls, not daily sums', async () => {
  const { cost, use, logLines } = await onMarch17()
  for (const daysAgo of [0, 0, 0, 1]) await use({ daysAgo })
  await cost()
  expect(JSON.parse(logLines.at(-1) ?? '').msg).toBe('[Cost API] Found 4 usage logs')
})

test('GET /api/dashboard/cost: 200 with zero and no sample when usage is older than the period', async () => {
  const { cost, use } = await onMarch17()
  await use({ daysAgo: 8 })
  const dashboard = await cost()
  expect(dashboard).toMatchObject({
    isMockData: false,
    agents: [],
    modelBreakdown: [],
    summary: { totalCost: 0, totalTokens: 0, totalCalls: 0, avgCostPerCall: 0 },
  })
  expect(dashboard).not.toHaveProperty('message')
})

test('GET /api/dashboard/cost: 200 with sums, averages, the most used model, and agents and models by cost', async () => {
  const { cost, use, platform, clock, ada } = await onMarch17()
  const agent = await write(platform.db, (tx) =>
    insertAgent({ clock, sealer: platform.sealer }, tx, {
      ownerId: ada.user.id,
      name: 'Ada Lovelace',
      model: MINI,
      plan: 'solo',
      aiProvider: 'openrouter',
      status: 'running',
    }),
  )
  await use({ agentId: 'long-gone' })
  for (const daysAgo of [0, 1]) await use({ agentId: agent.id, daysAgo })
  await use({ agentId: agent.id, model: BIG, inputTokens: 100, outputTokens: 100, costMicroUsd: 1250 })
  expect(await cost()).toMatchObject({
    summary: { totalCost: 0.0026, totalTokens: 4700, totalCalls: 4, avgCostPerCall: 0.00065 },
    agents: [
      { name: 'Ada Lovelace', model: MINI, tokens: 3200, cost: 0.00215, calls: 3, avgCostPerCall: 0.000717 },
      { name: 'long-gone', model: MINI, tokens: 1500, cost: 0.00045, calls: 1, avgCostPerCall: 0.00045 },
    ],
    modelBreakdown: [
      { model: MINI, percent: 51.9, cost: 0.00135 },
      { model: BIG, percent: 48.1, cost: 0.00125 },
    ],
    isMockData: false,
  })
})

test('GET /api/dashboard/cost: 200 with shares of the tokens when all calls were free', async () => {
  const { cost, use } = await onMarch17()
  await use({ model: 'local/echo', costMicroUsd: 0 })
  await use({ model: 'ollama/tiny', inputTokens: 400, outputTokens: 100, costMicroUsd: 0 })
  expect((await cost()).modelBreakdown).toEqual([
    { model: 'local/echo', percent: 75, cost: 0 },
    { model: 'ollama/tiny', percent: 25, cost: 0 },
  ])
})

test.each([
  ['', 7, 'Mar 11'],
  ['?period=7d', 7, 'Mar 11'],
  ['?period=30d', 30, 'Feb 16'],
  ['?period=mtd', 17, 'Mar 1'],
])(
  'GET /api/dashboard/cost%s: 200 with the last %d days, from %s to today, each with its sum',
  async (query, count, from) => {
    const { cost, use } = await onMarch17()
    await use()
    await use({ daysAgo: 2 })
    await use({ daysAgo: count - 1 })
    await use({ daysAgo: count })
    const { daily, summary } = await cost(query)
    expect(daily).toHaveLength(count)
    expect(daily[0]).toEqual({ date: from, cost: 0.00045, tokens: 1500 })
    expect(daily.slice(-3)).toEqual([
      { date: 'Mar 15', cost: 0.00045, tokens: 1500 },
      { date: 'Mar 16', cost: 0, tokens: 0 },
      { date: 'Mar 17', cost: 0.00045, tokens: 1500 },
    ])
    expect(summary.totalCalls).toBe(3)
  },
)

test('GET /api/dashboard/cost: 200 with the usage of the caller only', async () => {
  const { cost, use, eve } = await onMarch17()
  await use()
  expect(await cost('', eve)).toMatchObject({ isMockData: true })
  await use({ userId: eve.user.id, costMicroUsd: 7 })
  expect(await cost('', eve)).toMatchObject({ summary: { totalCalls: 1, totalCost: 0.000007 } })
  expect(await cost()).toMatchObject({ summary: { totalCalls: 1, totalCost: 0.00045 } })
})

test('GET /api/dashboard/cost: 200 with a marked sample and a logged reason when the figures cannot be read', async () => {
  const { cost, use, platform, logLines } = await onMarch17()
  await use()
  await write(platform.db, (tx) => tx.run(sql`DROP TABLE usage_days`))
  expect(await cost()).toMatchObject({ isMockData: true, message: expect.stringContaining('could not be read') })
  expect(JSON.parse(logLines.at(-1) ?? '').msg).toMatch(/^\[Cost API\] Prisma error: .*usage_days/)
})

test('GET /api/dashboard/cost: 200 with the share of the input tokens that came from a prompt cache', async () => {
  const { use, cost } = await onMarch17()
  await use({ inputTokens: 1000 })
  expect((await cost()).summary.cacheHitRate).toBeUndefined()
  await use({ inputTokens: 3000, cachedInputTokens: 1000 })
  expect((await cost()).summary.cacheHitRate).toBe(0.25)
})

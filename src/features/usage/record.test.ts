import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { testPlatform } from '../../../tests/harness/platform.ts'
import { write } from '../../db/write.ts'
import type { UsageEvent } from './record.ts'
import { usageDays, usageLogs, usageMonths } from './tables.ts'

const EVENT: UsageEvent = {
  userId: 'usr_ada',
  agentId: 'ada-1',
  model: 'openai/gpt-4o-mini',
  inputTokens: 1000,
  outputTokens: 500,
  costMicroUsd: 450,
  endpoint: '/v1/chat/completions',
  latencyMs: 321,
  errorMessage: null,
}

test('a completion becomes one row with all that the specification names', async () => {
  const { platform, clock } = testPlatform()
  platform.usage.record(EVENT)
  await platform.usage.flush()
  expect(platform.db.select().from(usageLogs).all()).toEqual([
    { ...EVENT, id: 1, success: true, createdAt: clock.now() },
  ])
})

test('a failed completion is recorded as failed, with the reason', async () => {
  const { platform } = testPlatform()
  const failed = { ...EVENT, inputTokens: 0, outputTokens: 0, costMicroUsd: 0, errorMessage: 'The provider is down' }
  platform.usage.record(failed)
  await platform.usage.flush()
  expect(platform.db.select().from(usageLogs).all()).toMatchObject([
    { success: false, errorMessage: 'The provider is down', inputTokens: 0 },
  ])
})

test('the sums of a day and of a month grow with each call, by user, agent and model', async () => {
  const { platform, clock } = testPlatform()
  clock.set(new Date('2100-03-31T23:59:59.999Z'))
  platform.usage.record(EVENT)
  platform.usage.record({ ...EVENT, inputTokens: 1, outputTokens: 2, costMicroUsd: 3 })
  platform.usage.record({ ...EVENT, model: 'openai/gpt-4o' })
  platform.usage.record({ ...EVENT, userId: 'usr_eve' })
  await platform.usage.flush()
  clock.advance(1)
  platform.usage.record(EVENT)
  await platform.usage.flush()
  const march = { userId: 'usr_ada', day: '2100-03-31', agentId: 'ada-1', model: 'openai/gpt-4o-mini' }
  const sums = { inputTokens: 1000, outputTokens: 500, costMicroUsd: 450, calls: 1 }
  const days = platform.db.select().from(usageDays).all()
  expect(days).toHaveLength(4)
  expect(days).toEqual(
    expect.arrayContaining([
      { ...march, inputTokens: 1001, outputTokens: 502, costMicroUsd: 453, calls: 2 },
      { ...march, ...sums, model: 'openai/gpt-4o' },
      { ...march, ...sums, userId: 'usr_eve' },
      { ...march, ...sums, day: '2100-04-01' },
    ]),
  )
  expect(platform.db.select().from(usageMonths).orderBy(usageMonths.userId, usageMonths.month).all()).toEqual([
    { userId: 'usr_ada', month: '2100-03', tokens: 3003 },
    { userId: 'usr_ada', month: '2100-04', tokens: 1500 },
    { userId: 'usr_eve', month: '2100-03', tokens: 1500 },
  ])
})

test('a hundred calls at once lose none', async () => {
  const { platform } = testPlatform()
  for (let call = 0; call < 100; call++) platform.usage.record(EVENT)
  await platform.usage.flush()
  expect(platform.db.select().from(usageDays).all()).toMatchObject([{ calls: 100, costMicroUsd: 45_000 }])
})

test('each call is told in the log, word for word', () => {
  const logLines: string[] = []
  const { platform } = testPlatform({ logLines })
  platform.usage.record(EVENT)
  expect(messages(logLines)).toEqual([
    '[UsageLogger] Logging: ada-1 | openai/gpt-4o-mini | 1000+500 tokens | $0.000450',
  ])
})

test('a write that fails is told in the log, leaves no half, and throws at nobody', async () => {
  const logLines: string[] = []
  const { platform } = testPlatform({ logLines })
  await write(platform.db, (tx) => tx.run(sql`DROP TABLE usage_months`))
  platform.usage.record(EVENT)
  await platform.usage.flush()
  expect(messages(logLines)).toEqual([
    expect.stringMatching(/^\[UsageLogger\] Logging: /),
    expect.stringMatching(/^\[UsageLogger\] Failed to log usage: .*usage_months/),
  ])
  expect(platform.db.select().from(usageLogs).all()).toEqual([])
  expect(platform.db.select().from(usageDays).all()).toEqual([])
})

function messages(lines: string[]): unknown[] {
  return lines.map((line) => JSON.parse(line).msg)
}

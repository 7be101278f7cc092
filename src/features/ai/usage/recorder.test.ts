import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { newId } from '../../../core/ids.ts'
import { write } from '../../../db/write.ts'
import { UNCACHED, type UsageEvent } from './rows/event.ts'
import { usageDays, usageKeyMonths, usageLogs, usageMonths } from './tables.ts'

const EVENT = {
  keyId: null,
  provider: 'openrouter',
  attempts: 1,
  isOwnKey: false,
  isEstimated: false,
  userId: 'usr_ada',
  agentId: 'ada-1',
  model: 'openai/gpt-4o-mini',
  ...UNCACHED,
  inputTokens: 1000,
  outputTokens: 500,
  costMicroUsd: 450,
  endpoint: '/v1/chat/completions',
  latencyMs: 321,
  errorMessage: null,
}

/** A completion that no other test of this file has made. */
function newEvent(change: Partial<UsageEvent> = {}): UsageEvent {
  return { generationId: newId('gen'), ...EVENT, ...change }
}

test('the recorder stores one row with all specified fields when a completion ends', async () => {
  const { platform, clock } = testPlatform()
  platform.usage.record(newEvent())
  await platform.usage.flush()
  const { isEstimated: estimated, ...columns } = EVENT
  expect(platform.db.select().from(usageLogs).all()).toEqual([
    {
      ...columns,
      estimated,
      generationId: expect.stringMatching(/^gen_/),
      id: 1,
      success: true,
      isUnpriced: false,
      createdAt: clock.now(),
      cachedInputTokens: 0,
      firstTokenMs: null,
      priceSource: null,
      finishReason: null,
      callId: null,
      trail: null,
      endUser: null,
      tags: null,
    },
  ])
})

test('the recorder marks usage that no provider reported and adds it to the estimated sums of the day', async () => {
  const { platform } = testPlatform()
  platform.usage.record(newEvent())
  platform.usage.record(newEvent({ isEstimated: true, inputTokens: 10, outputTokens: 20, costMicroUsd: 7 }))
  platform.usage.record(newEvent({ isEstimated: true, inputTokens: 1, outputTokens: 2, costMicroUsd: 3 }))
  await platform.usage.flush()
  expect(platform.db.select({ estimated: usageLogs.estimated }).from(usageLogs).all()).toEqual([
    { estimated: false },
    { estimated: true },
    { estimated: true },
  ])
  expect(platform.db.select().from(usageDays).all()).toMatchObject([
    { calls: 3, costMicroUsd: 460, estimatedTokens: 33, estimatedCostMicroUsd: 10 },
  ])
})

test('the recorder stores a completion as failed with the reason when it fails', async () => {
  const { platform } = testPlatform()
  const failed = { inputTokens: 0, outputTokens: 0, costMicroUsd: 0, errorMessage: 'The provider is down' }
  platform.usage.record(newEvent(failed))
  await platform.usage.flush()
  expect(platform.db.select().from(usageLogs).all()).toMatchObject([
    { success: false, errorMessage: 'The provider is down', inputTokens: 0 },
  ])
})

test('the recorder adds each call to the sums of day and month by user, agent and model', async () => {
  const { platform, clock } = testPlatform()
  clock.set(new Date('2100-03-31T23:59:59.999Z'))
  platform.usage.record(newEvent())
  platform.usage.record(newEvent({ inputTokens: 1, outputTokens: 2, costMicroUsd: 3 }))
  platform.usage.record(newEvent({ model: 'openai/gpt-4o' }))
  platform.usage.record(newEvent({ userId: 'usr_eve' }))
  await platform.usage.flush()
  clock.advance(1)
  platform.usage.record(newEvent())
  await platform.usage.flush()
  const march = {
    userId: 'usr_ada',
    day: '2100-03-31',
    agentId: 'ada-1',
    model: 'openai/gpt-4o-mini',
    provider: 'openrouter',
  }
  const uncached = { cachedInputTokens: 0, cacheCreationTokens: 0 }
  const reported = { reportedCalls: 0, reportedCostMicroUsd: 0, listCostMicroUsd: 0 }
  const estimated = { estimatedTokens: 0, estimatedCostMicroUsd: 0 }
  const none = { ...estimated, ...reported, unpricedCalls: 0, ownKeyCostMicroUsd: 0, ...uncached }
  const sums = { inputTokens: 1000, outputTokens: 500, costMicroUsd: 450, calls: 1, ...none }
  const days = platform.db.select().from(usageDays).all()
  expect(days).toHaveLength(4)
  expect(days).toEqual(
    expect.arrayContaining([
      { ...march, inputTokens: 1001, outputTokens: 502, costMicroUsd: 453, calls: 2, ...none },
      { ...march, ...sums, model: 'openai/gpt-4o' },
      { ...march, ...sums, userId: 'usr_eve' },
      { ...march, ...sums, day: '2100-04-01' },
    ]),
  )
  expect(platform.db.select().from(usageMonths).orderBy(usageMonths.userId, usageMonths.month).all()).toEqual([
    { userId: 'usr_ada', month: '2100-03', tokens: 3003, costMicroUsd: 903 },
    { userId: 'usr_ada', month: '2100-04', tokens: 1500, costMicroUsd: 450 },
    { userId: 'usr_eve', month: '2100-03', tokens: 1500, costMicroUsd: 450 },
  ])
})

test('the recorder loses no call when a hundred end at once', async () => {
  const { platform } = testPlatform()
  for (let call = 0; call < 100; call++) platform.usage.record(newEvent())
  await platform.usage.flush()
  expect(platform.db.select().from(usageDays).all()).toMatchObject([{ calls: 100, costMicroUsd: 45_000 }])
})

test('the recorder logs each call with all its fields', () => {
  const logLines: string[] = []
  const { platform } = testPlatform({ logLines })
  platform.usage.record(newEvent())
  expect(messages(logLines)).toEqual([
    '[UsageLogger] Logging: ada-1 | openai/gpt-4o-mini | 1000+500 tokens | $0.000450',
  ])
})

test('the recorder logs a failed write, leaves no partial rows and does not throw', async () => {
  const logLines: string[] = []
  const { platform } = testPlatform({ logLines })
  await write(platform.db, (tx) => tx.run(sql`DROP TABLE usage_months`))
  platform.usage.record(newEvent())
  await platform.usage.flush()
  expect(messages(logLines)).toEqual([
    expect.stringMatching(/^\[UsageLogger\] Logging: /),
    expect.stringMatching(/^\[UsageLogger\] Failed to count usage: .*usage_months/),
    expect.stringMatching(/^\[UsageLogger\] Failed to log usage: .*usage_months/),
  ])
  expect(platform.db.select().from(usageLogs).all()).toEqual([])
  expect(platform.db.select().from(usageDays).all()).toEqual([])
})

test('the recorder writes failed rows later, each call once, also after a restart', async () => {
  const { platform } = testPlatform()
  await write(platform.db, (tx) => tx.run(sql`ALTER TABLE usage_months RENAME TO elsewhere`))
  for (let call = 0; call < 10; call++) platform.usage.record(newEvent())
  await platform.usage.flush()
  await expect(platform.usageSpool.drain()).rejects.toThrow()
  for (let call = 0; call < 5; call++) platform.usage.record(newEvent())
  await platform.usage.flush()
  await write(platform.db, (tx) => tx.run(sql`ALTER TABLE elsewhere RENAME TO usage_months`))
  await platform.usageSpool.drain()
  await platform.usageSpool.drain()
  expect(platform.db.select().from(usageDays).all()).toMatchObject([{ calls: 15, costMicroUsd: 15 * 450 }])
  expect(platform.db.select().from(usageLogs).all()).toHaveLength(15)
})

test('the recorder counts a call once when it is in the spool file and was written too', async () => {
  const { platform, clock } = testPlatform()
  const event = newEvent()
  platform.usage.record(event)
  await platform.usage.flush()
  await platform.usageSpool.add([{ ...event, at: clock.now() }])
  await platform.usageSpool.drain()
  expect(platform.db.select().from(usageDays).all()).toMatchObject([{ calls: 1 }])
})

test('the recorder counts a call once when it is in the spool file twice', async () => {
  const { platform, clock } = testPlatform()
  const event = { ...newEvent(), at: clock.now() }
  await platform.usageSpool.add([event, event])
  await platform.usageSpool.drain()
  expect(platform.db.select().from(usageDays).all()).toMatchObject([{ calls: 1 }])
})

test('the recorder adds the calls of a key to its sums by month', async () => {
  const { platform, clock } = testPlatform()
  clock.set(new Date('2100-03-31T23:59:59.999Z'))
  platform.usage.record(newEvent({ keyId: 'key_1' }))
  platform.usage.record(newEvent({ keyId: 'key_1' }))
  await platform.usage.flush()
  clock.advance(1)
  platform.usage.record(newEvent({ keyId: 'key_1' }))
  await platform.usage.flush()
  expect(platform.db.select().from(usageKeyMonths).orderBy(usageKeyMonths.month).all()).toEqual([
    { keyId: 'key_1', month: '2100-03', tokens: 3000, costMicroUsd: 900, calls: 2, unpricedCalls: 0 },
    { keyId: 'key_1', month: '2100-04', tokens: 1500, costMicroUsd: 450, calls: 1, unpricedCalls: 0 },
  ])
})

function messages(lines: string[]): unknown[] {
  return lines.map((line) => JSON.parse(line).msg)
}

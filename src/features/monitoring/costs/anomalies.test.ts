import { expect, test } from 'bun:test'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { toDay } from '../../../core/clock.ts'
import { write } from '../../../db/write.ts'
import { messages } from '../../conversations/chat/tables.ts'

/** Half past twelve of the current day, so that sessions of now are valid. */
const NOW = new Date(`${toDay(new Date())}T12:30:00Z`)
const PATH = '/api/usage/anomalies'

async function owner() {
  const test = await agentOwner()
  test.clock.set(NOW)
  const { platform, user } = test
  const agentId = test.agent.id
  return {
    ...test,
    agentId,
    report: async () => (await test.web.request(PATH, { headers: test.cookie })).json(),
    /** A call of the agent some hours ago. */
    spend: async (hoursAgo: number, costUsd: number) => {
      test.clock.set(new Date(NOW.getTime() - hoursAgo * 3_600_000))
      platform.usage.record({
        generationId: `gen_${hoursAgo}_${costUsd}`,
        ...{ userId: user.id, agentId, keyId: null, model: 'm', provider: 'p', endpoint: '/v1/chat/completions' },
        ...{ attempts: 1, isOwnKey: false, isEstimated: false, inputTokens: 1, outputTokens: 1, latencyMs: 1 },
        ...{ cachedInputTokens: 0, cacheCreationTokens: 0, cacheCreationHourTokens: 0 },
        ...{ costMicroUsd: costUsd * 1_000_000, errorMessage: null },
      })
      await platform.usage.flush()
      test.clock.set(NOW)
    },
    write: (hoursAgo: number) =>
      write(platform.db, (tx) =>
        tx
          .insert(messages)
          .values({
            ...{ id: `msg_${hoursAgo}`, userId: user.id, agentId, sender: 'user', content: 'Hi', status: 'sent' },
            createdAt: new Date(NOW.getTime() - hoursAgo * 3_600_000),
          })
          .run(),
      ),
  }
}

test('GET /api/usage/anomalies: 200 with an agent that costs more than 3 times its median of 7 days', async () => {
  const test = await owner()
  for (let day = 1; day <= 7; day++) await test.spend(24 * day, 1)
  await test.spend(0, 3)
  expect(await test.report()).toMatchObject({ day: toDay(NOW), anomalies: [] })
  await test.spend(1, 0.5)
  const { agentId } = test
  expect(await test.report()).toMatchObject({
    anomalies: [{ agentId, agentName: expect.any(String), costUsd: 3.5, medianUsd: 1, factor: 3.5 }],
  })
})

test('GET /api/usage/anomalies: 200 without an anomaly when an agent is new or costs only cents', async () => {
  const test = await owner()
  await test.spend(0, 5)
  expect(await test.report()).toMatchObject({ anomalies: [] })
  for (let day = 1; day <= 7; day++) await test.spend(24 * day, 0.0001)
  const quiet = await owner()
  for (let day = 1; day <= 7; day++) await quiet.spend(24 * day, 0.0001)
  await quiet.spend(0, 0.009)
  expect(await quiet.report()).toMatchObject({ anomalies: [] })
})

test('GET /api/usage/anomalies: 200 with the cost of hours without messages to the agent', async () => {
  const test = await owner()
  await test.write(5)
  await test.spend(5, 1)
  await test.spend(4, 1)
  await test.spend(3, 0.25)
  await test.spend(50, 0.5)
  const { agentId } = test
  expect(await test.report()).toMatchObject({ idle: [{ agentId, costUsd: 2.75, idleCostUsd: 0.75, idleCalls: 2 }] })
})

test('GET /api/usage/anomalies: 200 without agents of another account, 401 without a session', async () => {
  const test = await owner()
  await test.spend(3, 1)
  expect((await test.web.request(PATH)).status).toBe(401)
  expect(await (await test.web.request(PATH, { headers: test.stranger.cookie })).json()).toEqual({
    day: toDay(NOW),
    anomalies: [],
    idle: [],
  })
})

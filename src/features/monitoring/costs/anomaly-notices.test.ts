import { expect, test } from 'bun:test'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { json } from '../../../../tests/harness/requests.ts'
import { toDay } from '../../../core/clock.ts'
import { notices } from '../../accounts/notifications/tables.ts'
import { sendAnomalyNotices } from './anomaly-notices.ts'

/** Half past twelve of the current day, so that sessions of now are valid. */
const NOW = new Date(`${toDay(new Date())}T12:30:00Z`)

async function owner() {
  const test = await agentOwner()
  const { platform, user, clock } = test
  const agentId = test.agent.id
  clock.set(NOW)
  return {
    ...test,
    agentId,
    spend: async (daysAgo: number, costUsd: number) => {
      clock.set(new Date(NOW.getTime() - daysAgo * 86_400_000))
      platform.usage.record({
        generationId: `gen_${daysAgo}_${costUsd}`,
        ...{ userId: user.id, agentId, keyId: null, model: 'm', provider: 'p', endpoint: '/v1/chat/completions' },
        ...{ attempts: 1, isOwnKey: false, isEstimated: false, inputTokens: 1, outputTokens: 1, latencyMs: 1 },
        ...{ cachedInputTokens: 0, cacheCreationTokens: 0, cacheCreationHourTokens: 0 },
        ...{ costMicroUsd: costUsd * 1_000_000, errorMessage: null },
      })
      await platform.usage.flush()
      clock.set(NOW)
    },
    sent: async () => {
      await sendAnomalyNotices(platform)
      return platform.db.select().from(notices).all()
    },
  }
}

test('sendAnomalyNotices notifies the owner of an agent once a day when it costs more than 3 times its median', async () => {
  const test = await owner()
  for (let day = 1; day <= 7; day++) await test.spend(day, 1)
  await test.spend(0, 3)
  expect(await test.sent()).toEqual([])
  await test.spend(0, 0.5)
  const { agentId, user } = test
  const text = 'The agent has cost $3.50 today, 3.5 times its median of $1.00 a day.'
  expect(await test.sent()).toMatchObject([{ userId: user.id, agentId, kind: 'cost_unusual', text }])
  await test.spend(0, 5)
  expect(await test.sent()).toHaveLength(1)
  test.clock.advance(24 * 3_600_000)
  expect(await test.sent()).toHaveLength(1)
})

test('sendAnomalyNotices sends nothing when the agent is muted', async () => {
  const test = await owner()
  for (let day = 1; day <= 7; day++) await test.spend(day, 1)
  await test.spend(0, 9)
  const settings = json('PUT', { mutedAgents: [test.agentId] }, test.cookie)
  const changed = await test.web.request('/api/notices/settings', settings)
  expect(changed.status).toBe(200)
  expect(await test.sent()).toEqual([])
})

import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { toDay } from '../../../core/clock.ts'
import { write } from '../../../db/write.ts'
import { CreatedKey } from '../../accounts/keys/schemas.ts'
import { apiKeys } from '../../accounts/keys/tables.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { usageDays, usageKeyMonths } from '../../ai/usage/tables.ts'
import { approvals } from '../../conversations/approvals/tables.ts'
import { messages } from '../../conversations/chat/tables.ts'
import { cardSubscriptions } from '../../payments/cards/tables.ts'
import { backupRuns } from '../backups/tables.ts'
import { Overview } from './schemas.ts'

async function open() {
  const test = testPlatform()
  const { platform, clock } = test
  clock.set(new Date('2026-11-18T12:30:00Z'))
  const ada = await test.signIn('ada@example.com', 'solo')
  const eve = await test.signIn('eve@example.com', 'solo')
  const add = (name: string, agent: Partial<AgentRow> = {}) =>
    write(platform.db, (tx) =>
      insertAgent({ clock, sealer: platform.sealer }, tx, {
        ...{ name, model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running', ownerId: ada.user.id },
        ...agent,
      }),
    )
  const look = async (who = ada) => read(Overview, await test.web.request('/api/overview', { headers: who.cookie }))
  return { ...test, ada, eve, add, look }
}

test('GET /api/overview: 200 with only first steps for a new user, 401 without a session', async () => {
  const { look, web } = await open()
  const overview = await look()
  expect(overview).toMatchObject({ attention: [], agents: {}, conversations: [] })
  expect(overview.steps).toEqual({ model: false, agent: false, hello: false, telegram: false, backup: null })
  expect(overview.cost.map(({ costUsd }) => costUsd)).toEqual(Array(14).fill(0))
  expect(overview.cost.at(-1)?.day).toBe('2026-11-18')
  expect((await web.request('/api/overview')).status).toBe(401)
})

test('GET /api/overview: 200 with the items that need the owner’s action, most urgent first, and none for other users', async () => {
  const { add, ada, clock, eve, look, platform, web } = await open()
  const now = clock.now()
  const down = { status: 'error', lastError: 'The port is taken' } as const
  const [first] = await Promise.all(['Bo', 'Cy', 'Dora', 'Emil'].map((name) => add(name, down)))
  const created = await web.request('/api/keys', json('POST', { name: 'Deploy' }, ada.cookie))
  const key = await read(CreatedKey, created)
  await write(platform.db, (tx) => {
    tx.update(agents).set(down).run()
    const one = { agentId: first?.id ?? '', tool: 'delete_file', arguments: '{}', argumentsHash: 'h', createdAt: now }
    const until = { status: 'waiting', expiresAt: new Date(now.getTime() + 60_000) } as const
    const past = { status: 'waiting', expiresAt: new Date(now.getTime() - 1) } as const
    tx.insert(approvals)
      .values([
        { ...one, ...until, id: 'apr_1' },
        { ...one, ...past, id: 'apr_2' },
      ])
      .run()
    tx.insert(cardSubscriptions)
      .values({
        ...{ id: 'sub_1', userId: ada.user.id, purpose: 'plan', plan: 'solo', state: 'past_due', lastEventAt: now },
        ...{ graceEndsAt: now, isEnding: false, createdAt: now },
      })
      .run()
    tx.update(apiKeys).set({ tokensPerMonth: 100 }).where(eq(apiKeys.id, key.id)).run()
    tx.insert(usageKeyMonths).values({ keyId: key.id, month: '2026-11', tokens: 85, costMicroUsd: 0, calls: 1 }).run()
  })
  const { attention } = await look()
  expect(attention.map(({ kind }) => kind)).toEqual([
    'agent-down',
    'agent-down',
    'agent-down',
    'more-agents-down',
    'approvals',
    'payment-due',
    'key-used',
  ])
  expect(attention[0]).toMatchObject({ reason: 'The port is taken' })
  expect(attention).toContainEqual({ kind: 'more-agents-down', more: 1 })
  expect(attention).toContainEqual({ kind: 'approvals', waiting: 1 })
  expect(attention).toContainEqual({ kind: 'key-used', keyId: key.id, name: 'Deploy', percent: 85 })
  expect((await look(eve)).attention).toEqual([])
})

test('GET /api/overview: 200 with daily costs, the last message of each conversation, and the completed steps', async () => {
  const { add, ada, clock, look, platform, web } = await open()
  const bo = await add('Bo')
  await web.request(`/api/agents/${bo.id}/config`, json('PUT', { telegramToken: '1:abc' }, ada.cookie))
  await write(platform.db, (tx) => {
    const userId = ada.user.id
    const usage = { userId, model: 'm', inputTokens: 1, outputTokens: 1, calls: 1, day: toDay(clock.now()) }
    tx.insert(usageDays)
      .values([
        { ...usage, agentId: bo.id, costMicroUsd: 1_500_000 },
        { ...usage, agentId: 'other', costMicroUsd: 500_000 },
      ])
      .run()
    const line = { userId, agentId: bo.id, status: 'sent', createdAt: clock.now() } as const
    tx.insert(messages)
      .values([
        { ...line, id: 'q', sender: 'user', content: 'Hello?' },
        { ...line, id: 'a', sender: 'agent', content: 'x'.repeat(500) },
      ])
      .run()
    tx.update(users).set({ isAdmin: true }).where(eq(users.id, userId)).run()
    tx.insert(backupRuns).values({ startedAt: clock.now(), file: 'one.tar' }).run()
  })
  const overview = await look()
  expect(overview.cost.at(-1)).toEqual({ day: '2026-11-18', costUsd: 2 })
  expect(overview.conversations).toEqual([
    {
      agentId: bo.id,
      name: 'Bo',
      sender: 'agent',
      excerpt: 'x'.repeat(160),
      platform: 'web',
      at: clock.now().toISOString(),
    },
  ])
  expect(overview.agents).toEqual({ provisioning: 1 })
  expect(overview.steps).toEqual({ model: false, agent: true, hello: true, telegram: true, backup: true })
})

test('GET /api/plans: 200 without a session, no plans without a card service', async () => {
  const { web } = testPlatform()
  const response = await web.request('/api/plans')
  expect([response.status, await response.json()]).toEqual([200, { plans: [], currency: 'GBP', signUp: 'open' }])
  const paying = testPlatform({
    environment: { STRIPE_SECRET_KEY: 'sk_test_0', STRIPE_WEBHOOK_SECRET: 'whsec_0', SIGN_UP: 'closed' },
  })
  const offered = await (await paying.web.request('/api/plans')).json()
  expect(offered).toMatchObject({ signUp: 'closed' })
  expect(JSON.stringify(offered)).toContain('"price":29')
})

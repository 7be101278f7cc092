import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { notices } from '../../accounts/notifications/tables.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import { ApprovalList } from '../../conversations/approvals/schemas.ts'
import { sendCapAlerts } from './alerts.ts'
import { DayLimits, UsedLimits } from './schemas.ts'

const OPENAI = '/v1/chat/completions'
const HELLO = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 500 }

async function openAgent() {
  const test = await aiPlatform()
  test.clock.set(new Date('2100-06-15T12:00:00Z'))
  const ada = await test.join('network')
  const path = `/api/agents/${ada.agentId}/limits`
  const { platform, web, backend } = test
  const send = (method: 'PUT' | 'POST', to: string, body?: unknown, headers: Record<string, string> = ada.cookie) =>
    web.request(to, json(method, body, headers))
  return {
    ...test,
    ada,
    path,
    send,
    set: async (limits: object) => read(DayLimits, send('PUT', path, limits)),
    show: () => read(DayLimits, web.request(path, { headers: ada.cookie })),
    use: (...kinds: string[]) =>
      read(UsedLimits, backend.request('/v1/limits/use', json('POST', { kinds }, bearer(ada.agentToken)))),
    chat: () => test.ask(OPENAI, HELLO, bearer(ada.agentToken)),
    approvals: async () => (await read(ApprovalList, web.request('/api/approvals', { headers: ada.cookie }))).approvals,
    status: () => platform.db.select({ status: agents.status }).from(agents).where(eq(agents.id, ada.agentId)).get(),
    noticesOf: (kind: string) =>
      platform.db
        .select()
        .from(notices)
        .all()
        .filter((one) => one.kind === kind),
    alert: () => sendCapAlerts({ ...platform.ai, askForMore: platform.ai.askForMore }),
  }
}

test('PUT /api/agents/:id/limits: 200, and GET returns limits, actions and today’s use', async () => {
  await using test = await openAgent()
  await test.set({ usd: { limit: 1.5, action: 'stop' }, messages: { limit: 20 }, files: { action: 'ask' } })
  await test.use('toolCalls', 'messages')
  await test.use('toolCalls')
  expect((await test.chat()).status).toBe(200)
  const unlimited = { limit: null, action: 'pause', extra: 0, reached: false, enforced: true } as const
  expect(await test.show()).toEqual({
    agentId: test.ada.agentId,
    timeZone: 'UTC',
    day: '2100-06-15',
    resetsAt: '2100-06-16T00:00:00.000Z',
    unpricedCalls: 0,
    limits: {
      usd: { ...unlimited, limit: 1.5, action: 'stop', used: 0.00045 },
      tokens: { ...unlimited, used: 1500 },
      messages: { ...unlimited, limit: 20, used: 1 },
      toolCalls: { ...unlimited, used: 2 },
      files: { ...unlimited, action: 'ask', used: 0 },
    },
  })
  expect((await test.set({ messages: { limit: null } })).limits.messages.limit).toBeNull()
})

test('PUT /api/agents/:id/limits: 400 when limits are invalid, 404 for a stranger, 401 without a session', async () => {
  await using test = await openAgent()
  const bad = [
    { usd: { limit: 0 } },
    { messages: { limit: 1.5 } },
    { files: { limit: -1 } },
    { tokens: { action: 'x' } },
  ]
  for (const body of bad) expect((await test.send('PUT', test.path, body)).status).toBe(400)
  const eve = await test.join('network', 'eve@example.com')
  expect((await test.send('PUT', test.path, { files: { limit: 1 } }, eve.cookie)).status).toBe(404)
  expect((await test.web.request(test.path, { headers: eve.cookie })).status).toBe(404)
  expect((await test.web.request(test.path)).status).toBe(401)
})

test('POST /v1/limits/use: concurrent uses never exceed a limit, and a refused one is not counted', async () => {
  await using test = await openAgent()
  await test.set({ toolCalls: { limit: 5 }, files: { limit: 3 } })
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => test.use('toolCalls', 'files')))
  expect(outcomes.filter(({ allowed }) => allowed)).toHaveLength(3)
  const { limits } = await test.show()
  expect([limits.toolCalls.used, limits.files.used, limits.files.reached]).toEqual([3, 3, true])
  expect(outcomes.at(-1)?.message).toContain('Daily limit of 3 written files reached')
  expect(test.noticesOf('cap_reached')).toHaveLength(1)
  expect((await test.backend.request('/v1/limits/use', json('POST', { kinds: ['toolCalls'] }))).status).toBe(401)
  const bad = await test.backend.request(
    '/v1/limits/use',
    json('POST', { kinds: ['usd'] }, bearer(test.ada.agentToken)),
  )
  expect(bad.status).toBe(400)
})

test('POST /v1/chat/completions: 429 when a limit pauses the agent, until the owner raises it or until midnight', async () => {
  await using test = await openAgent()
  await test.set({ messages: { limit: 1, action: 'pause' } })
  await test.use('messages')
  expect((await test.chat()).status).toBe(200)
  expect((await test.use('messages')).allowed).toBe(false)
  const refused = await test.chat()
  expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining('Daily limit of 1 messages')])
  await test.set({ messages: { limit: 2 } })
  expect((await test.chat()).status).toBe(200)
  await test.use('messages')
  await test.use('messages')
  expect((await test.chat()).status).toBe(429)
  test.clock.set(new Date('2100-06-16T00:00:01Z'))
  expect((await test.chat()).status).toBe(200)
  expect((await test.show()).limits.messages.used).toBe(0)
})

test('POST /v1/limits/use: waits when a limit asks; an approval allows the same amount again, a denial ends it for today', async () => {
  await using test = await openAgent()
  await test.set({ toolCalls: { limit: 2, action: 'ask' } })
  for (const allowed of [true, true, false]) expect((await test.use('toolCalls')).allowed).toBe(allowed)
  const { approvalId } = await test.use('toolCalls')
  const [asked, ...others] = await test.approvals()
  expect(others).toEqual([])
  expect(asked).toMatchObject({ id: approvalId, tool: 'raise_limit', status: 'waiting' })
  expect(JSON.parse(asked?.arguments ?? '')).toEqual({ limit: 'toolCalls', amount: 2, day: '2100-06-15' })
  expect((await test.chat()).status).toBe(200)
  expect((await test.send('POST', `/api/approvals/${approvalId}/approve`)).status).toBe(200)
  for (const allowed of [true, true, false]) expect((await test.use('toolCalls')).allowed).toBe(allowed)
  expect((await test.show()).limits.toolCalls).toMatchObject({ used: 4, extra: 2, reached: true })
  const again = await test.use('toolCalls')
  expect(again.approvalId).not.toBe(approvalId)
  expect((await test.send('POST', `/api/approvals/${again.approvalId}/deny`)).status).toBe(200)
  expect(await test.use('toolCalls')).toMatchObject({ allowed: false, approvalId: null })
})

test('POST /v1/approvals: 400 when an agent asks to raise its own limit', async () => {
  await using test = await openAgent()
  const body = { tool: 'raise_limit', arguments: '{"limit":"usd","amount":1,"day":"2100-06-15"}' }
  const response = await test.backend.request('/v1/approvals', json('POST', body, bearer(test.ada.agentToken)))
  expect(response.status).toBe(400)
})

test('POST /v1/limits/use: stops the agent and notifies the owner once when a limit is set to stop', async () => {
  await using test = await openAgent()
  await write(test.platform.db, (tx) => tx.update(agents).set({ status: 'running' }).run())
  await test.set({ files: { limit: 0, action: 'stop' } })
  expect((await test.use('files')).allowed).toBe(false)
  expect(test.status()).toEqual({ status: 'stopped' })
  await test.use('files')
  expect(test.noticesOf('cap_reached').map(({ text }) => text)).toEqual([
    'Daily limit of 0 written files reached. The agent is stopped until its owner starts it.',
  ])
})

test('POST /v1/chat/completions: 200 again when the owner approves after a cost limit', async () => {
  await using test = await openAgent()
  await test.set({ usd: { limit: 0.01, action: 'ask' } })
  const untilRefused = async () => {
    for (let calls = 0; calls < 60; calls++) if ((await test.chat()).status === 429) return calls
    throw new Error('Nothing was refused')
  }
  const first = await untilRefused()
  await test.alert()
  await test.alert()
  const [asked, ...others] = await test.approvals()
  expect(others).toEqual([])
  expect(asked).toMatchObject({ tool: 'raise_limit', status: 'waiting' })
  await test.send('POST', `/api/approvals/${asked?.id}/approve`)
  expect(await untilRefused()).toBeWithin(first - 2, first + 3)
  await test.alert()
  expect(await test.approvals()).toHaveLength(2)
})

test('POST /v1/limits/use: limits reset at midnight in the owner’s time zone', async () => {
  await using test = await openAgent()
  await write(test.platform.db, (tx) => tx.update(users).set({ timeZone: 'America/Los_Angeles' }).run())
  test.clock.set(new Date('2100-06-15T23:30:00Z'))
  await test.set({ tokens: { limit: 4000 }, files: { limit: 1 } })
  await test.use('files')
  expect((await test.chat()).status).toBe(200)
  test.clock.set(new Date('2100-06-16T06:30:00Z'))
  expect((await test.use('files')).allowed).toBe(false)
  expect(await test.show()).toMatchObject({
    timeZone: 'America/Los_Angeles',
    day: '2100-06-15',
    resetsAt: '2100-06-16T07:00:00.000Z',
    limits: { tokens: { used: 1500 } },
  })
  test.clock.set(new Date('2100-06-16T07:00:00Z'))
  expect((await test.use('files')).allowed).toBe(true)
  expect((await test.show()).limits.tokens.used).toBe(0)
})

test('POST /v1/chat/completions: asks the owner when the first call of the day exceeds a token limit', async () => {
  await using test = await openAgent()
  await test.set({ tokens: { limit: 1, action: 'ask' } })
  expect((await test.chat()).status).toBe(429)
  await test.alert()
  const [asked] = await test.approvals()
  expect(JSON.parse(asked?.arguments ?? '')).toEqual({ limit: 'tokens', amount: 1, day: '2100-06-15' })
})

test('POST /v1/limits/use: pauses an agent on its own machine when a limit is set to stop', async () => {
  await using test = await openAgent()
  await write(test.platform.db, (tx) => tx.update(agents).set({ status: 'running', runtime: 'machine' }).run())
  await test.set({ files: { limit: 0, action: 'stop' } })
  expect((await test.use('files')).allowed).toBe(false)
  expect(test.status()).toEqual({ status: 'running' })
  expect(test.noticesOf('cap_reached')[0]?.text).toContain('The agent pauses until midnight')
})

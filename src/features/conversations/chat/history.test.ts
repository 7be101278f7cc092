import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { findFreePorts } from '../../../../tests/harness/ports.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { MessageList } from './schemas.ts'
import { messages } from './tables.ts'

/** Creates Ada with an agent and a conversation of `count` messages, and Eve with nothing. */
async function withConversation(count: number, agent: Partial<AgentRow> = {}) {
  const test = testPlatform()
  const { platform, clock } = test
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const row = { name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' as const, ...agent }
  const { id: agentId } = await write(platform.db, (tx) => {
    const added = insertAgent({ clock, sealer: platform.sealer }, tx, { ...row, ownerId: ada.user.id })
    for (let index = 1; index <= count; index++) {
      const line = { userId: ada.user.id, agentId: added.id, sender: 'user', content: `${index}`, topic: null } as const
      tx.insert(messages)
        .values({ ...line, id: `msg_${index}`, status: 'sent', createdAt: clock.now() })
        .run()
    }
    return added
  })
  return {
    ...test,
    ada,
    eve,
    agentId,
    page: async (query: string, who = ada) => {
      const list = await read(MessageList, test.web.request(`/api/chat${query}`, { headers: who.cookie }))
      return { contents: list.messages.map(({ content }) => Number(content)), hasMore: list.hasMore, count: list.count }
    },
    send: (body: unknown, who = ada) => test.web.request('/api/chat', json('POST', body, who.cookie)),
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

test('GET /api/chat: 200 with the last 50 messages, oldest first, and whether there are more', async () => {
  const { page } = await withConversation(51)
  expect(await page('')).toEqual({ contents: range(2, 51), hasMore: true, count: 50 })
})

test('GET /api/chat: 200 with all fields of a message', async () => {
  const { web, ada, agentId, clock } = await withConversation(1)
  expect(await (await web.request('/api/chat', { headers: ada.cookie })).json()).toEqual({
    messages: [
      {
        id: 'msg_1',
        agentId,
        sender: 'user',
        content: '1',
        topic: null,
        status: 'sent',
        timestamp: clock.now().toISOString(),
        platform: 'web',
        author: null,
      },
    ],
    count: 1,
    hasMore: false,
  })
})

test('GET /api/chat: 200 with pages that reach the first message without a gap', async () => {
  const { page, agentId } = await withConversation(25)
  const pages = [
    await page(`?agentId=${agentId}&limit=10`),
    await page(`?agentId=${agentId}&limit=10&before=msg_16`),
    await page(`?agentId=${agentId}&limit=10&before=msg_6`),
  ]
  expect(pages).toEqual([
    { contents: range(16, 25), hasMore: true, count: 10 },
    { contents: range(6, 15), hasMore: true, count: 10 },
    { contents: range(1, 5), hasMore: false, count: 5 },
  ])
  expect(await page('?before=msg_1')).toEqual({ contents: [], hasMore: false, count: 0 })
  expect(await page('?limit=25')).toEqual({ contents: range(1, 25), hasMore: false, count: 25 })
})

test('GET /api/chat: 200 and empty for another user, even with the id of the agent or a message', async () => {
  const { page, eve, agentId } = await withConversation(3)
  for (const query of ['', `?agentId=${agentId}`, '?before=msg_3', '?before=msg_missing'])
    expect(await page(query, eve)).toEqual({ contents: [], hasMore: false, count: 0 })
})

test.each([
  ['limit=0', 'limit must be at least 1'],
  ['limit=101', 'limit must be at most 100'],
  ['limit=1.5', 'limit must be a whole number'],
  ['limit=many', 'limit must be a number'],
])('GET /api/chat?%s: 400', async (query, error) => {
  const { web, ada } = await withConversation(1)
  const response = await web.request(`/api/chat?${query}`, { headers: ada.cookie })
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
})

test.each(['GET', 'POST'])('%s /api/chat: 401 without a session', async (method) => {
  const { web } = testPlatform()
  const response = await web.request('/api/chat', method === 'POST' ? json('POST', { message: 'Hi' }) : {})
  expect(response.status).toBe(401)
  expect(await response.json()).toEqual({ error: 'Unauthorized' })
})

test.each([
  [{}, 'Message required'],
  [{ message: '' }, 'Message required'],
  [{ message: ' \n ' }, 'Message required'],
  [{ message: 7 }, 'Message required'],
  [{ message: 'x'.repeat(100_001) }, 'Message must be at most 100000 characters'],
  [{ message: 'Hi', topic: 7 }, 'topic must be text'],
  [{ message: 'Hi', topic: 'x'.repeat(201) }, 'topic must be at most 200 characters'],
  [{ message: 'Hi', agentId: 7 }, 'agentId must be text'],
  [{ message: 'Hi', stream: 'yes' }, 'stream must be true or false'],
])('POST /api/chat: 400 for invalid body %#, and nothing is stored', async (body, error) => {
  const { send, platform } = await withConversation(0)
  const response = await send(body)
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
  expect(countRows(platform.db).messages).toBe(0)
})

test('POST /api/chat: 404 when the agent is another user’s, is missing, or none runs', async () => {
  const { send, eve, agentId, platform } = await withConversation(0)
  for (const body of [
    { message: 'Hi', agentId },
    { message: 'Hi', agentId: 'missing-00000000' },
  ]) {
    const response = await send(body, eve)
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: 'Agent not found' })
  }
  const alone = await send({ message: 'Hi' }, eve)
  expect(alone.status).toBe(404)
  expect(await alone.json()).toEqual({ error: 'No agent deployed' })
  expect(countRows(platform.db).messages).toBe(0)
})

test.each(['pending', 'provisioning', 'stopped', 'error', 'unknown'] as const)(
  'POST /api/chat: 409 when the agent is %s, and nothing is stored',
  async (status) => {
    const { send, agentId, platform } = await withConversation(0, { status, port: 20_000 })
    const response = await send({ message: 'Hi', agentId })
    expect(response.status).toBe(409)
    expect(await response.json()).toEqual({ error: 'Agent is not running', code: 'AGENT_NOT_RUNNING' })
    expect(countRows(platform.db).messages).toBe(0)
  },
)

test('POST /api/chat: 503 when the agent is unreachable, and the message is stored as failed', async () => {
  const [port = 0] = await findFreePorts(1)
  const { send, agentId, web, ada } = await withConversation(0, { port })
  const response = await send({ message: 'Hi', agentId })
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ error: 'The agent is not reachable' })
  const { messages: kept } = await read(MessageList, web.request('/api/chat', { headers: ada.cookie }))
  expect(kept).toMatchObject([{ sender: 'user', content: 'Hi', status: 'failed' }])
})

test('GET /api/chat: 429 when one address exceeds its rate', async () => {
  const { web } = testPlatform({ environment: { RATE_LIMIT_CHAT: '1' } })
  await web.request('/api/chat')
  const response = await web.request('/api/chat')
  expect(response.status).toBe(429)
  expect(await response.json()).toEqual({ error: 'Too many requests, please slow down.' })
})

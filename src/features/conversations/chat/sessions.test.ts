import { expect, test } from 'bun:test'
import { z } from 'zod'
import { startAgentDouble } from '../../../../tests/harness/doubles/agent.ts'
import { startOwnedAgent } from '../../../../tests/harness/owned-agent.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { ChatSession, ChatSessionList, MessageList, SearchResults, SentMessage } from './schemas.ts'
import { messages } from './tables.ts'

const One = z.object({ session: ChatSession })

/** Creates Ada and Eve, each with an agent that answers with its question and session. */
async function withAgents() {
  const double = startAgentDouble(({ message, sessionKey }) => `You said ${message} in ${sessionKey}`)
  const test = testPlatform()
  const { platform, clock, web } = test
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const kind = { name: 'A', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  const add = (row: { ownerId: string; port: number | null }) =>
    write(platform.db, (tx) => insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ...row }))
  const agent = await add({ ownerId: ada.user.id, port: double.port })
  const other = await add({ ownerId: eve.user.id, port: null })
  const send = (method: 'POST' | 'PATCH' | 'DELETE', path: string, body: object = {}, who = ada) =>
    web.request(path, json(method, body, who.cookie))
  const get = (path: string, who = ada) => web.request(path, { headers: who.cookie })
  return {
    ...test,
    [Symbol.asyncDispose]: () => double[Symbol.asyncDispose](),
    ada,
    eve,
    agentId: agent.id,
    othersId: other.id,
    double,
    send,
    get,
    say: (message: string, more: object = {}) =>
      read(SentMessage, send('POST', '/api/chat', { agentId: agent.id, message, ...more })),
    create: async (body: object = {}) => (await read(One, send('POST', '/api/chat/sessions', body))).session,
    list: (query = '') => read(ChatSessionList, get(`/api/chat/sessions${query}`)),
    lines: async (query: string) =>
      (await read(MessageList, get(`/api/chat${query}`))).messages.map((line) => line.content),
    search: (query: string, who = ada) => read(SearchResults, get(`/api/chat/search?${query}`, who)),
  }
}

test('POST /api/chat/sessions: 201 and messages of a session stay in it, also at the agent', async () => {
  await using test = await withAgents()
  const response = await test.send('POST', '/api/chat/sessions', { agentId: test.agentId })
  expect(response.status).toBe(201)
  const { session } = await read(One, response)
  expect(session).toMatchObject({ agentId: test.agentId, title: null })
  await test.say('outside')
  const { reply } = await test.say('inside', { sessionId: session.id })
  expect(reply).toBe(`You said inside in user:${test.ada.user.id}:${session.id}`)
  // The session determines the agent.
  await read(SentMessage, test.send('POST', '/api/chat', { message: 'again', sessionId: session.id }))
  expect(await test.lines(`?sessionId=${session.id}`)).toEqual([
    'inside',
    reply,
    'again',
    expect.stringContaining('again'),
  ])
  expect(await test.lines('?sessionId=none')).toEqual(['outside', expect.stringContaining('outside')])
  expect(await test.lines('')).toHaveLength(6)
})

test('GET /api/chat/sessions: 200 with the first message as title until the session gets one', async () => {
  await using test = await withAgents()
  const session = await test.create()
  const titleOf = async () => (await test.list()).sessions.find(({ id }) => id === session.id)?.title
  const long = 'Please tell me about the history of the lighthouse at Eddystone and its four towers'
  await test.say(`${long}\nIn detail.`, { sessionId: session.id })
  expect(await titleOf()).toBe('Please tell me about the history of the lighthouse at…')
  await test.say('Something else', { sessionId: session.id })
  expect(await titleOf()).toBe('Please tell me about the history of the lighthouse at…')
  const renamed = await test.send('PATCH', `/api/chat/sessions/${session.id}`, { title: '  Lighthouses ' })
  expect([renamed.status, (await read(One, renamed)).session.title]).toEqual([200, 'Lighthouses'])
  const named = await test.create({ title: 'Tea' })
  await test.say('Coffee', { sessionId: named.id })
  expect((await test.list()).sessions.map(({ title }) => title)).toEqual(['Tea', 'Lighthouses'])
})

test('GET /api/chat/sessions: 200 with pages that reach all, latest activity first, without a gap', async () => {
  await using test = await withAgents()
  const ids: string[] = []
  for (let index = 0; index < 5; index++) {
    // Two of them concurrently.
    if (index !== 3) test.clock.advance(1000)
    ids.unshift((await test.create({ title: `${index}` })).id)
  }
  const first = await test.list('?limit=2')
  const second = await test.list(`?limit=2&before=${first.sessions[1]?.id}`)
  const third = await test.list(`?limit=2&before=${second.sessions[1]?.id}`)
  expect([first, second, third].flatMap(({ sessions }) => sessions.map(({ id }) => id))).toEqual(ids)
  expect([first, second, third].map(({ hasMore }) => hasMore)).toEqual([true, true, false])
  expect((await test.list(`?agentId=${test.othersId}`)).sessions).toEqual([])
})

test('DELETE /api/chat/sessions/:id: 200 deletes its messages and no others', async () => {
  await using test = await withAgents()
  const before = countRows(test.platform.db)
  const session = await test.create()
  await test.say('secret', { sessionId: session.id })
  const response = await test.send('DELETE', `/api/chat/sessions/${session.id}`)
  expect([response.status, await response.json()]).toEqual([200, { success: true }])
  const { message_days: _, ...after } = countRows(test.platform.db)
  expect(before).toMatchObject(after)
  expect((await test.search('q=secret')).results).toEqual([])
  await test.say('kept')
  expect((await test.send('DELETE', `/api/chat/sessions/${session.id}`)).status).toBe(404)
  expect(await test.lines('')).toHaveLength(2)
})

test('/api/chat/sessions: 404 for a stranger’s session and agent, and for another agent’s session', async () => {
  await using test = await withAgents()
  const session = await test.create()
  const { eve, send, get } = test
  for (const response of [
    await send('PATCH', `/api/chat/sessions/${session.id}`, { title: 'Mine' }, eve),
    await send('DELETE', `/api/chat/sessions/${session.id}`, {}, eve),
    await send('POST', '/api/chat', { message: 'Hi', sessionId: session.id }, eve),
    await send('POST', '/api/chat', { message: 'Hi', sessionId: 'sess_missing' }),
    await send('POST', '/api/chat', { message: 'Hi', sessionId: session.id, agentId: test.othersId }, eve),
    await get(`/api/chat/sessions?before=${session.id}`, eve),
  ]) {
    expect([response.status, await response.json()]).toEqual([404, { error: 'Session not found' }])
  }
  expect((await send('POST', '/api/chat/sessions', { agentId: test.agentId }, eve)).status).toBe(404)
  expect((await read(ChatSessionList, get('/api/chat/sessions', eve))).sessions).toEqual([])
  expect(await read(MessageList, get(`/api/chat?sessionId=${session.id}`, eve))).toMatchObject({ count: 0 })
  expect(test.double.questions).toEqual([])
})

test.each([{ title: '' }, { title: ' ' }, { title: 'x'.repeat(101) }, {}])(
  'PATCH /api/chat/sessions/:id: 400 when the body is %j',
  async (body) => {
    await using test = await withAgents()
    const session = await test.create()
    expect((await test.send('PATCH', `/api/chat/sessions/${session.id}`, body)).status).toBe(400)
  },
)

test('GET /api/chat/search: 200 with messages that have all words, the last as a prefix, ignoring case and accents', async () => {
  await using test = await withAgents()
  await test.say('The café at the harbour opens at nine')
  await test.say('A harbour without coffee')
  const found = async (q: string) =>
    (await test.search(`q=${encodeURIComponent(q)}`)).results.filter(({ message }) => message.sender === 'user')
  expect((await found('HARBOUR')).map(({ message }) => message.content)).toEqual([
    'A harbour without coffee',
    'The café at the harbour opens at nine',
  ])
  const [only] = await found('harbour caf')
  expect(only?.snippet).toEqual([
    { text: 'The ', isFound: false },
    { text: 'café', isFound: true },
    { text: ' at the ', isFound: false },
    { text: 'harbour', isFound: true },
    { text: ' opens at nine', isFound: false },
  ])
  expect(await found('harbour tea')).toEqual([])
  // Search terms are literal: neither operators nor quotes have a meaning.
  for (const q of ['"', '*', 'NOT', 'a" OR "b', 'user_id:', 'harbour AND', ')(', '-', 'NEAR(']) {
    expect((await test.get(`/api/chat/search?q=${encodeURIComponent(q)}`)).status).toBe(200)
  }
})

test('GET /api/chat/search: 200 without another user’s messages, even by their id', async () => {
  await using test = await withAgents()
  await test.say('The harbour')
  expect((await test.search('q=harbour', test.eve)).results).toEqual([])
  expect((await test.search(`q=${test.ada.user.id}`, test.eve)).results).toEqual([])
})

test('GET /api/chat/search: 200 with pages to the end, limited to agentId', async () => {
  await using test = await withAgents()
  const { platform, clock, ada, agentId } = test
  await write(platform.db, (tx) => {
    for (let index = 1; index <= 5; index++) {
      const line = { userId: ada.user.id, agentId, sender: 'user', topic: null, status: 'sent' } as const
      tx.insert(messages)
        .values({ ...line, id: `msg_${index}`, content: `number ${index}`, createdAt: clock.now() })
        .run()
    }
  })
  const first = await test.search('q=number&limit=3')
  const second = await test.search('q=number&limit=3&before=msg_3')
  expect([...first.results, ...second.results].map(({ message }) => message.content)).toEqual([
    'number 5',
    'number 4',
    'number 3',
    'number 2',
    'number 1',
  ])
  expect([first.hasMore, second.hasMore]).toEqual([true, false])
  expect((await test.search('q=number&agentId=agent-missing')).results).toEqual([])
  expect((await test.get('/api/chat/search')).status).toBe(400)
  expect((await test.get('/api/chat/search?q=%20')).status).toBe(400)
})

test('PATCH /api/chat/sessions/:id: 200 and the instructions are in every turn of this session only', async () => {
  await using owned = await startOwnedAgent({}, { isReached: true })
  const { asOwner, agent, running } = owned
  const create = async (body: object) =>
    (await read(One, asOwner('/api/chat/sessions', 'POST', { agentId: agent.id, ...body }))).session
  const say = async (sessionId?: string) => {
    const sent = await asOwner('/api/chat', 'POST', { agentId: agent.id, message: 'Hello', sessionId })
    expect(sent.status).toBe(200)
    return running.prompt()
  }
  const rhymes = await create({ instructions: ' Answer in rhymes. ' })
  const plain = await create({})
  expect([rhymes.instructions, plain.instructions]).toEqual(['Answer in rhymes.', null])
  expect(await say(rhymes.id)).toContain('Answer in rhymes.')
  expect(await say(rhymes.id)).toContain('Answer in rhymes.')
  expect(await say(plain.id)).not.toContain('rhymes')
  expect(await say()).not.toContain('rhymes')
  const change = (body: object) => asOwner(`/api/chat/sessions/${rhymes.id}`, 'PATCH', body)
  expect((await read(One, change({ title: 'Tea' }))).session).toMatchObject({
    title: 'Tea',
    instructions: 'Answer in rhymes.',
  })
  expect((await read(One, change({ instructions: '' }))).session.instructions).toBeNull()
  expect(await say(rhymes.id)).not.toContain('rhymes')
  expect((await change({ instructions: 'x'.repeat(8001) })).status).toBe(400)
})

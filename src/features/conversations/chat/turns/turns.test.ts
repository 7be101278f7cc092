import { expect, test } from 'bun:test'
import { z } from 'zod'
import { startStreamingAgent } from '../../../../../tests/harness/doubles/streaming-agent.ts'
import { json, read } from '../../../../../tests/harness/requests.ts'
import { openTalkingService } from '../../../../../tests/harness/services/talking-service.ts'
import { until } from '../../../../../tests/harness/until.ts'
import { readAllEvents, readEvents } from '../../../../../tests/harness/wires/events.ts'
import { ChatTurn, MessageList, TurnList } from '../schemas.ts'

const OneTurn = z.object({ turn: ChatTurn })

/** Creates Ada with an agent whose answer the test sends word by word. */
async function withTurn(message = 'Hello') {
  const installation = await startStreamingAgent()
  const { ada, web } = installation
  const begun = await web.request('/api/chat', json('POST', { message }, { ...ada.cookie, prefer: 'respond-async' }))
  expect(begun.status).toBe(202)
  const { turn } = await read(OneTurn, begun)
  await installation.agent.asked()
  const path = `/api/chat/turns/${turn.id}`
  return {
    ...installation,
    id: turn.id,
    begun: turn,
    show: async () => (await read(OneTurn, web.request(path, { headers: ada.cookie }))).turn,
    join: (query = '', headers: Record<string, string> = {}) =>
      web.request(`${path}/events${query}`, { headers: { ...ada.cookie, ...headers } }),
    stop: () => web.request(`${path}/stop`, { method: 'POST', headers: ada.cookie }),
    lines: async () => (await read(MessageList, web.request('/api/chat', { headers: ada.cookie }))).messages,
  }
}

const textOf = (events: { event: string | undefined; data: string }[]) =>
  events
    .filter(({ event }) => event === 'delta')
    .map(({ data }) => JSON.parse(data).text)
    .join('')

test('POST /api/chat: 202 with the turn before the agent has answered when Prefer is respond-async', async () => {
  const { begun, agent, show, id } = await withTurn()
  expect(begun).toEqual({
    id,
    agentId: expect.any(String),
    sessionId: null,
    questionId: expect.stringMatching(/^msg_/),
    replyId: null,
    state: 'running',
    error: null,
    errorCode: null,
    restarts: 0,
    message: 'Hello',
    text: '',
    position: 0,
    toolCalls: [],
    model: null,
    inputTokens: null,
    outputTokens: null,
    costUsd: null,
    durationMs: null,
    endedBy: null,
    createdAt: expect.any(String),
    finishedAt: null,
  })
  agent.say('Good morning.')
  agent.finish()
  await until('the end', async () => (await show()).state === 'done')
  expect(await show()).toMatchObject({ text: 'Good morning.', position: 13, replyId: expect.stringMatching(/^msg_/) })
})

test('GET /api/chat/turns/:id: 200 with the limit that ended the turn', async () => {
  const { agent, show, lines } = await withTurn()
  agent.say('I stopped here.')
  agent.sendEvent({ type: 'early_end', reason: 'loop', tool: 'read_page' })
  agent.finish()
  await until('the end', async () => (await show()).state === 'done')
  expect(await show()).toMatchObject({ text: 'I stopped here.', endedBy: 'loop', error: null })
  expect((await lines()).at(-1)).toMatchObject({ status: 'sent', turn: { endedBy: 'loop' } })
})

test('GET /api/chat/turns/:id/events: 200 with every character once and the outcome, for any time of joining', async () => {
  const { agent, join, show } = await withTurn()
  const first = join()
  agent.say('One ')
  await until('the first word', async () => (await show()).text === 'One ')
  const second = join()
  agent.say('two ')
  await until('the second word', async () => (await show()).text === 'One two ')
  const third = join('?after=2')
  agent.say('three')
  agent.finish()
  const streams = await Promise.all([first, second, third].map(async (response) => readAllEvents(await response)))
  expect(streams.map(textOf)).toEqual(['One two three', 'One two three', 'e two three'])
  for (const events of streams) {
    expect(events.at(-2)?.id).toBe('13')
    expect(events.at(-1)).toMatchObject({ id: '14', event: 'done' })
    expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({ reply: 'One two three', message: 'Hello' })
  }
})

test('GET /api/chat/turns/:id/events: 200 continues after any Last-Event-ID, during the turn and after it', async () => {
  const { agent, join, show } = await withTurn()
  agent.say('One two')
  await until('the words', async () => (await show()).text === 'One two')
  for (let known = 0; known <= 7; known++) {
    const response = await join('', { 'last-event-id': String(known) })
    if (known === 7) break
    for await (const { id, data } of readEvents(response)) {
      expect([id, JSON.parse(data)]).toEqual(['7', { text: 'One two'.slice(known) }])
      break
    }
  }
  agent.finish()
  await until('the end', async () => (await show()).state === 'done')
  for (let known = 0; known <= 7; known++) {
    const events = await readAllEvents(await join('', { 'last-event-id': String(known) }))
    expect([textOf(events), events.at(-1)?.event]).toEqual(['One two'.slice(known), 'done'])
  }
  const over = await join('', { 'last-event-id': '8' })
  expect([over.status, await over.text()]).toEqual([204, ''])
})

test('POST /api/chat/turns/:id/stop: 200 and the text is stored as stopped, and the agent’s turn ends', async () => {
  const { agent, join, show, stop, lines, web, ada, id } = await withTurn()
  const following = join()
  agent.say('Once upon')
  await until('the words', async () => (await show()).text === 'Once upon')
  const stopped = await stop()
  expect(stopped.status).toBe(200)
  expect((await read(OneTurn, stopped)).turn).toMatchObject({ state: 'stopped', text: 'Once upon', error: null })
  await agent.aborted()
  const events = await readAllEvents(await following)
  expect(textOf(events)).toBe('Once upon')
  expect(events.at(-1)?.event).toBe('stopped')
  expect(JSON.parse(events.at(-1)?.data ?? '')).toEqual({
    turnId: id,
    error: 'The reply was stopped',
    code: 'TURN_STOPPED',
    reply: 'Once upon',
  })
  expect(await lines()).toMatchObject([
    { sender: 'user', status: 'sent' },
    { sender: 'agent', content: 'Once upon', status: 'stopped' },
  ])
  expect((await read(OneTurn, stop())).turn.state).toBe('stopped')
  const { turns } = await read(TurnList, web.request('/api/chat/turns', { headers: ada.cookie }))
  expect(turns).toEqual([])
})

test('POST /api/chat/turns/:id/stop: 200 without a reply when there is no text, and the message is marked stopped', async () => {
  const { stop, lines } = await withTurn()
  await stop()
  expect(await lines()).toMatchObject([{ sender: 'user', status: 'stopped' }])
})

test('POST /api/chat: 409 TURN_STOPPED with the partial reply when another tab stops the turn', async () => {
  const installation = await startStreamingAgent()
  const { ada, web, agent } = installation
  const waiting = web.request('/api/chat', json('POST', { message: 'Hello' }, ada.cookie))
  await agent.asked()
  agent.say('Once')
  const running = () => read(TurnList, web.request('/api/chat/turns', { headers: ada.cookie }))
  const [turn] = await until('the word', async () => {
    const { turns } = await running()
    return turns[0]?.text === 'Once' ? turns : null
  })
  await web.request(`/api/chat/turns/${turn?.id}/stop`, { method: 'POST', headers: ada.cookie })
  const response = await waiting
  expect(response.headers.get('x-turn-id')).toBe(turn?.id ?? '')
  expect([response.status, await response.json()]).toEqual([
    409,
    { error: 'The reply was stopped', code: 'TURN_STOPPED', reply: 'Once' },
  ])
})

test('GET /api/chat/turns/:id/events: 200 with the reason when a turn fails, and its text is stored as failed', async () => {
  const { agent, join, lines, show } = await withTurn()
  const following = join()
  agent.say('Half')
  agent.breakOff()
  const events = await readAllEvents(await following)
  expect(textOf(events)).toBe('Half')
  expect(events.at(-1)?.event).toBe('failed')
  expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({ error: expect.stringMatching(/\w{5}/), reply: 'Half' })
  expect(await lines()).toMatchObject([
    { sender: 'user', status: 'failed' },
    { sender: 'agent', content: 'Half', status: 'failed' },
  ])
  expect(await show()).toMatchObject({ state: 'failed', error: expect.stringMatching(/\w{5}/) })
})

test('/api/chat/turns: 404 for a stranger, 401 without a session, 400 when the position is invalid', async () => {
  const { web, signIn, id, join } = await withTurn()
  const eve = await signIn('eve@example.com')
  for (const [method, path] of [
    ['GET', id],
    ['GET', 'turn_missing'],
    ['GET', `${id}/events`],
    ['POST', `${id}/stop`],
  ] as const) {
    const response = await web.request(`/api/chat/turns/${path}`, { method, headers: eve.cookie })
    expect([response.status, await response.json()]).toEqual([404, { error: 'Turn not found' }])
    expect((await web.request(`/api/chat/turns/${path}`, { method })).status).toBe(401)
  }
  expect(await (await web.request('/api/chat/turns', { headers: eve.cookie })).json()).toEqual({ turns: [] })
  for (const after of ['x', '-1', '1.5']) expect((await join(`?after=${after}`)).status).toBe(400)
})

test('POST /api/chat: 429 at 20 running turns, and nothing is stored', async () => {
  const { web, ada, lines } = await withTurn()
  const ask = () =>
    web.request('/api/chat', json('POST', { message: 'Hi' }, { ...ada.cookie, prefer: 'respond-async' }))
  for (let turn = 2; turn <= 20; turn++) expect((await ask()).status).toBe(202)
  const refused = await ask()
  expect([refused.status, await refused.json()]).toEqual([
    429,
    { error: 'Too many replies are under way', current: 20, limit: 20 },
  ])
  expect(await lines()).toHaveLength(20)
})

test('GET /api/chat/turns/:id/events: the stream ends with the turn when the agent is deleted', async () => {
  const { join, agent, show, removeAgent, lines } = await withTurn()
  agent.say('Half')
  await until('the word', async () => (await show()).text === 'Half')
  const following = join()
  await removeAgent()
  agent.breakOff()
  expect((await readAllEvents(await following)).at(-1)?.event).toBe('failed')
  expect(await lines()).toEqual([])
})

test('POST /api/chat/turns/:id/stop: 200 ends the model call of a real agent, which is recorded', async () => {
  await using service = await openTalkingService({ text: ['Good ', 'never sent'], fault: 'hang-mid-body' })
  const { provider, person } = service
  const begun = await person.post('/api/chat', { message: 'Hello', stream: true })
  const id = begun.headers.get('x-turn-id')
  for await (const { event } of readEvents(begun)) {
    expect(event).toBe('delta')
    break
  }
  await read(OneTurn, person.post(`/api/chat/turns/${id}/stop`, {}))
  expect(await provider.chats[0]?.closed).toBe('aborted')
  const { messages } = await read(MessageList, person.get('/api/chat'))
  expect(messages.map(({ content, status }) => [content, status])).toEqual([
    ['Hello', 'sent'],
    ['Good ', 'stopped'],
  ])
  await until('the bill', async () => {
    const cost: unknown = await (await person.get('/api/dashboard/cost')).json()
    return JSON.stringify(cost).includes('"totalCalls":1') && JSON.stringify(cost).includes('"isMockData":false')
  })
}, 300_000)

test('GET /api/chat/turns/:id: 200 with the tool calls, usage and cost of a real agent, also for a listener', async () => {
  await using service = await openTalkingService()
  const { provider, person } = service
  const note = { path: 'notes/tea.md', content: 'Tea at four.' }
  provider.answerWith(({ body }) =>
    body.messages.at(-1)?.role === 'tool'
      ? { text: ['It is ', 'written.'] }
      : { toolCalls: [{ name: 'write_file', arguments: note }] },
  )
  const sent = await person.post('/api/chat', { message: 'Write it down' })
  const id = sent.headers.get('x-turn-id')
  expect(sent.status).toBe(200)
  const turn = await until('the bill', async () => {
    const shown = (await read(OneTurn, person.get(`/api/chat/turns/${id}`))).turn
    return shown.costUsd === 0.0009 ? shown : null
  })
  expect(turn).toMatchObject({
    state: 'done',
    text: 'It is written.',
    model: 'openai/gpt-4o-mini',
    inputTokens: 2000,
    outputTokens: 1000,
    toolCalls: [{ name: 'write_file', success: true, durationMs: expect.any(Number), result: expect.any(String) }],
  })
  expect(JSON.parse(turn.toolCalls[0]?.arguments ?? '')).toEqual(note)
  const events = await readAllEvents(await person.get(`/api/chat/turns/${id}/events`))
  expect(events.map(({ event }) => event)).toEqual(['tool', 'delta', 'done'])
  expect(events[0]?.id).toBe('1')
  expect(turn.position).toBe(15)
  const later = await readAllEvents(await person.get(`/api/chat/turns/${id}/events?after=4`))
  expect(textOf(later)).toBe('is written.')
}, 300_000)

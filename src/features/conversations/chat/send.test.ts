import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Fault } from '../../../../tests/harness/doubles/provider.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { openTalkingService, type TalkingService } from '../../../../tests/harness/services/talking-service.ts'
import { until } from '../../../../tests/harness/until.ts'
import { readAllEvents } from '../../../../tests/harness/wires/events.ts'
import { MessageList, SentMessage } from './schemas.ts'

const USUAL = { text: ['Good ', 'morning', '.'] }

let service: TalkingService
beforeAll(async () => {
  service = await openTalkingService(USUAL)
}, 300_000)
afterAll(() => service?.[Symbol.asyncDispose]())

/** Shared service whose provider is reset; `lines` are the log lines since then. */
async function withRunningAgent() {
  const { provider, person } = service
  provider.answerWith(USUAL)
  provider.chats.splice(0)
  const allLines = async () => (await read(MessageList, person.get('/api/chat?limit=100'))).messages
  const before = (await allLines()).length
  return {
    ...service,
    web: service.server.urls.web,
    lines: async () =>
      (await allLines())
        .slice(before)
        .map(({ sender, content, topic, status }) => ({ sender, content, topic, status })),
  }
}

test('POST /api/chat: 200 with the reply of the newest running agent, and both messages are stored', async () => {
  const test = await withRunningAgent()
  const response = await test.person.post('/api/chat', { message: '  Hello  ', topic: 'greetings' })
  expect(response.status).toBe(200)
  expect(await read(SentMessage, response)).toEqual({
    id: expect.stringMatching(/^msg_/),
    agentId: test.agentId,
    message: 'Hello',
    topic: 'greetings',
    status: 'sent',
    timestamp: expect.any(String),
    reply: 'Good morning.',
  })
  expect(await test.lines()).toEqual([
    { sender: 'user', content: 'Hello', topic: 'greetings', status: 'sent' },
    { sender: 'agent', content: 'Good morning.', topic: 'greetings', status: 'sent' },
  ])
})

test('POST /api/chat: 200 streams the reply as it is written, and ends with the complete reply', async () => {
  const test = await withRunningAgent()
  const response = await test.person.post('/api/chat', { message: 'Hello', agentId: test.agentId, stream: true })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toStartWith('text/event-stream')
  const events = await readAllEvents(response)
  expect(events.slice(0, -1)).toEqual(
    ['Good ', 'morning', '.'].map((text) => ({ event: 'delta', data: JSON.stringify({ text }) })),
  )
  expect(events.at(-1)?.event).toBe('done')
  expect(SentMessage.parse(JSON.parse(events.at(-1)?.data ?? ''))).toMatchObject({ reply: 'Good morning.' })
  expect((await test.lines()).map(({ sender }) => sender)).toEqual(['user', 'agent'])
})

test.each<[Fault, number]>([
  [{ status: 500 }, 502],
  [{ status: 401 }, 502],
  [{ status: 429 }, 429],
  ['no-done', 502],
  ['html', 502],
  ['empty-choices', 502],
])(
  'POST /api/chat: when a provider has the fault %j, %d and the message is stored as failed',
  async (fault, status) => {
    const test = await withRunningAgent()
    test.provider.answerWith({ text: '', fault })
    const response = await test.person.post('/api/chat', { message: 'Hello' })
    expect(await response.json()).toMatchObject({ error: expect.stringMatching(/\w{5}/) })
    expect(response.status).toBe(status)
    expect(await test.lines()).toMatchObject([{ sender: 'user', content: 'Hello', status: 'failed' }])

    test.provider.answerWith({})
    const again = await read(SentMessage, test.person.post('/api/chat', { message: 'Hello again' }))
    expect(again.reply).toBe('Hello.')
  },
)

test('POST /api/chat: 200 with an error event when a stream breaks, and the message is stored as failed', async () => {
  const test = await withRunningAgent()
  test.provider.answerWith({ text: ['Good ', 'mor'], fault: 'no-done' })
  const events = await readAllEvents(await test.person.post('/api/chat', { message: 'Hello', stream: true }))
  expect(events.map(({ event }) => event)).not.toContain('done')
  expect(events.at(-1)?.event).toBe('error')
  expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({ error: expect.stringMatching(/\w{5}/) })
  expect((await test.lines())[0]).toMatchObject({ sender: 'user', status: 'failed' })
})

test.each([true, false])(
  'POST /api/chat: all messages are stored when the caller disconnects, stream %p',
  async (stream) => {
    const test = await withRunningAgent()
    const gate = Promise.withResolvers<void>()
    test.provider.answerWith(async () => {
      await gate.promise
      return { text: 'Good morning.' }
    })
    const client = new AbortController()
    const request = json('POST', { message: 'Hello', stream }, test.person.cookie)
    const response = fetch(`${test.web}/api/chat`, { ...request, signal: client.signal })
    response.catch(() => undefined)
    await until('the question', () => test.provider.chats.length === 1)
    client.abort()
    await response.catch(() => undefined)
    gate.resolve()
    await until('the reply', async () => (await test.lines()).length === 2)
    expect(await test.lines()).toMatchObject([
      { sender: 'user', content: 'Hello', status: 'sent' },
      { sender: 'agent', content: 'Good morning.', status: 'sent' },
    ])
    expect(test.provider.chats).toHaveLength(1)
  },
)

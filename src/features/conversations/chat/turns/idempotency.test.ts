import { expect, test } from 'bun:test'
import { startStreamingAgent } from '../../../../../tests/harness/doubles/streaming-agent.ts'
import { json, read } from '../../../../../tests/harness/requests.ts'
import { readAllEvents } from '../../../../../tests/harness/wires/events.ts'
import { MessageList, SentMessage } from '../schemas.ts'

/** Sends Ada's question with an idempotency key, as a retrying client does. */
async function withKey() {
  const installation = await startStreamingAgent()
  const { web, ada, agent } = installation
  const ask = (body: object = {}, key = 'one', headers: Record<string, string> = {}) =>
    web.request(
      '/api/chat',
      json('POST', { message: 'Hello', ...body }, { ...ada.cookie, 'idempotency-key': key, ...headers }),
    )
  return {
    ...installation,
    ask,
    answer(text: string) {
      agent.say(text)
      agent.finish()
    },
    contents: async () =>
      (await read(MessageList, web.request('/api/chat', { headers: ada.cookie }))).messages.map(
        ({ content }) => content,
      ),
  }
}

test('POST /api/chat: 200 with one turn for requests with the same key, during it and after it, streamed or not', async () => {
  const { ask, agent, answer, contents } = await withKey()
  const first = ask()
  await agent.asked()
  const second = ask()
  const third = await ask({ stream: true })
  const fourth = await ask({}, 'one', { prefer: 'respond-async' })
  expect([third.headers.get('idempotency-replayed'), fourth.status]).toEqual(['true', 202])
  answer('Good morning.')
  const replies = await Promise.all([first, second].map((response) => read(SentMessage, response)))
  expect(replies.map(({ reply }) => reply)).toEqual(['Good morning.', 'Good morning.'])
  expect((await readAllEvents(third)).at(-1)?.event).toBe('done')
  const later = await ask()
  expect(later.headers.get('idempotency-replayed')).toBe('true')
  expect(await read(SentMessage, later)).toEqual(replies[0] ?? SentMessage.parse({}))
  expect((await readAllEvents(await ask({ stream: true }))).map(({ event }) => event)).toEqual(['delta', 'done'])
  expect(agent.calls).toHaveLength(1)
  expect(await contents()).toEqual(['Hello', 'Good morning.'])
})

test('POST /api/chat: 200 with one turn for two concurrent requests with the same key', async () => {
  const { ask, agent, answer, contents } = await withKey()
  const both = [ask(), ask()]
  await agent.asked()
  answer('Once.')
  expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200])
  expect(agent.calls).toHaveLength(1)
  expect(await contents()).toEqual(['Hello', 'Once.'])
})

test('POST /api/chat: 409 IDEMPOTENCY_MISMATCH when the message differs, 400 when the key is malformed', async () => {
  const { ask, agent, answer } = await withKey()
  const first = ask()
  await agent.asked()
  const other = await ask({ message: 'Something else' })
  expect([other.status, await other.json()]).toEqual([
    409,
    { error: 'Idempotency-Key was used for another request', code: 'IDEMPOTENCY_MISMATCH' },
  ])
  answer('Hi.')
  await first
  expect((await ask({}, 'x'.repeat(256))).status).toBe(400)
  expect(agent.calls).toHaveLength(1)
})

test('POST /api/chat: 200 with another turn when the key is of another user or a day old', async () => {
  const { ask, agent, answer, clock, contents } = await withKey()
  const first = ask()
  await agent.asked()
  answer('One.')
  await first
  clock.advance(86_400_000)
  const second = ask()
  while (agent.calls.length < 2) await Bun.sleep(1)
  answer('Two.')
  expect((await read(SentMessage, second)).reply).toBe('Two.')
  expect(await contents()).toEqual(['Hello', 'One.', 'Hello', 'Two.'])
})

test('POST /api/chat: 503 again when a request to an unreachable agent is repeated with its key', async () => {
  const { ask, agent, contents } = await withKey()
  await agent.server.stop(true)
  expect((await ask()).status).toBe(503)
  expect((await ask()).status).toBe(503)
  expect(await contents()).toEqual(['Hello', 'Hello'])
})

test('POST /api/chat: 502 with the same body when a failed turn is repeated with its key', async () => {
  const { ask, agent } = await withKey()
  const first = ask()
  await agent.asked()
  agent.say('Half')
  agent.breakOff()
  const [status, body] = [(await first).status, await (await first).json()]
  expect(status).toBe(502)
  const again = await ask()
  expect([again.status, await again.json()]).toEqual([status, body])
  expect(agent.calls).toHaveLength(1)
})

import { expect, test } from 'bun:test'
import { appendFile, readdir, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { hangs } from '../../../tests/harness/doubles/platform.ts'
import { startTestAgent } from '../../../tests/harness/test-agent.ts'

type Agent = Awaited<ReturnType<typeof startTestAgent>>

const SessionList = z.object({
  sessions: z.array(
    z.object({ key: z.string(), messageCount: z.number(), createdAt: z.string(), lastActivity: z.string() }),
  ),
})
const History = z.object({ sessionKey: z.string(), items: z.array(z.object({ content: z.string() }).loose()) })
const listSessions = async (agent: Agent) => SessionList.parse(await (await agent.call('/sessions')).json()).sessions
const contentsAsked = (agent: Agent) =>
  agent.platform.asked
    .at(-1)
    ?.messages.filter((message) => message.role !== 'system')
    .map((message) => message.content)
const sessionFile = async (agent: Agent) => {
  const [name] = await readdir(join(agent.folder, 'sessions'))
  return join(agent.folder, 'sessions', name ?? '')
}

test('a session continues when the agent restarts', async () => {
  await using agent = await startTestAgent()
  await agent.chat('one', 'conv:1')
  await agent.restart()
  await agent.chat('two', 'conv:1')
  expect(contentsAsked(agent)).toEqual(['one', 'You said: one', 'two'])
})

test('a session is separate from others, and calls without a session are not stored', async () => {
  await using agent = await startTestAgent()
  await agent.chat('secret of a', 'a')
  await agent.chat('hi', 'b')
  expect(contentsAsked(agent)).toEqual(['hi'])
  await agent.chat('hi')
  expect(contentsAsked(agent)).toEqual(['hi'])
  expect(await (await agent.call('/health')).json()).toMatchObject({ sessions: 2 })
})

test('the session key comes from x-session-key, else x-openclaw-session-key, else user', async () => {
  await using agent = await startTestAgent()
  const headers = { 'content-type': 'application/json', 'x-openclaw-session-key': 'b' }
  const body = JSON.stringify({ user: 'c', messages: [{ role: 'user', content: 'x' }] })
  await agent.chat('x', 'a', { user: 'c' })
  await agent.call('/v1/chat/completions', { method: 'POST', headers, body })
  await agent.chat('x', undefined, { user: 'c' })
  const sessions = await listSessions(agent)
  expect(sessions.map((session) => session.key).sort()).toEqual(['a', 'b', 'c'])
})

test('only the last user message is new when the call has a session; without one all messages are used', async () => {
  await using agent = await startTestAgent()
  const messages = [
    { role: 'system', content: 'Speak Latin.' },
    { role: 'user', content: 'earlier' },
    { role: 'assistant', content: 'reply' },
    { role: 'user', content: [{ type: 'text', text: 'last' }] },
  ]
  await agent.chat('', undefined, { messages })
  expect(contentsAsked(agent)).toEqual(['earlier', 'reply', 'last'])
  expect(agent.platform.asked[0]?.messages[0]?.content).toContain('Speak Latin.')
  await agent.chat('one', 's')
  await agent.chat('', 's', { messages })
  expect(contentsAsked(agent)).toEqual(['one', 'You said: one', 'last'])
})

test('turns of one session run in order, those of different sessions concurrently', async () => {
  await using agent = await startTestAgent()
  const slow = hangs('slow')
  agent.platform.next(slow.answerer)
  const asked = agent.platform.nextAsked()
  const first = agent.chat('one', 's')
  await asked
  const second = agent.chat('two', 's')
  expect((await agent.chat('other', 't')).status).toBe(200)
  expect(agent.platform.asked).toHaveLength(2)
  slow.release()
  expect((await first).status).toBe(200)
  expect((await second).status).toBe(200)
  expect(contentsAsked(agent)).toEqual(['one', 'slowlate', 'two'])
})

test('the history in a model request is limited and starts with a user message', async () => {
  await using agent = await startTestAgent()
  const long = 'x'.repeat(15_000)
  for (let turn = 0; turn < 5; turn++) await agent.chat(`${turn} ${long}`, 's')
  const contents = contentsAsked(agent) ?? []
  expect(contents.join('').length).toBeLessThan(60_000 + 16_000)
  expect(String(contents[0])).toMatch(/^\d x/)
  expect(String(contents.at(-1))).toStartWith('4 ')
})

test('GET /sessions: 200 with keys, counts and times, the latest first', async () => {
  await using agent = await startTestAgent()
  await agent.chat('x', 'a')
  await agent.chat('x', 'b')
  await agent.chat('x', 'a')
  const sessions = await listSessions(agent)
  expect(sessions).toMatchObject([
    { key: 'a', messageCount: 4 },
    { key: 'b', messageCount: 2 },
  ])
  const [latest] = sessions
  expect(Date.parse(latest?.lastActivity ?? '')).toBeGreaterThanOrEqual(Date.parse(latest?.createdAt ?? ''))
})

test('GET /sessions/:key/history: 200 with the last messages, oldest first; 400 when the limit is invalid, 404 when the session is unknown', async () => {
  await using agent = await startTestAgent()
  const path = `/sessions/${encodeURIComponent('a/b ä')}/history`
  expect((await agent.call(path)).status).toBe(404)
  for (const text of ['1', '2', '3']) await agent.chat(text, undefined, { user: 'a/b ä' })
  const history = History.parse(await (await agent.call(`${path}?limit=3`)).json())
  expect(history.sessionKey).toBe('a/b ä')
  expect(history.items.map((item) => item.content)).toEqual(['You said: 2', '3', 'You said: 3'])
  expect(history.items[1]).toEqual({ role: 'user', content: '3', timestamp: expect.stringMatching(/^\d{4}-/) })
  expect((await agent.call(`${path}?limit=0`)).status).toBe(400)
  expect((await agent.call('/sessions/none/history')).status).toBe(404)
})

test('a session continues without the last line when a crash left it incomplete', async () => {
  await using agent = await startTestAgent()
  await agent.chat('one', 's')
  await agent.chat('two', 's')
  const file = await sessionFile(agent)
  await truncate(file, Bun.file(file).size - 20)
  await agent.chat('three', 's')
  expect(contentsAsked(agent)).toEqual(['one', 'You said: one', 'three'])
  await agent.chat('four', 's')
  expect(contentsAsked(agent)).toEqual(['one', 'You said: one', 'three', 'You said: three', 'four'])
  expect(await (await agent.call('/sessions')).json()).toMatchObject({ sessions: [{ messageCount: 6 }] })
})

test('a session continues without a line when it is damaged', async () => {
  await using agent = await startTestAgent()
  await agent.chat('one', 's')
  await appendFile(await sessionFile(agent), '\0\0garbage\n')
  await agent.chat('two', 's')
  expect(contentsAsked(agent)).toEqual(['one', 'You said: one', 'two'])
})

test('DELETE /sessions/:key: 200 when the session exists, whose turn ends with 409; 404 when it is unknown', async () => {
  await using agent = await startTestAgent()
  await agent.chat('one', 's')
  const slow = hangs('slow')
  agent.platform.next(slow.answerer)
  const asked = agent.platform.nextAsked()
  const turn = agent.chat('two', 's')
  await asked
  expect((await agent.call('/sessions/s', { method: 'DELETE' })).status).toBe(200)
  expect((await turn).status).toBe(409)
  await slow.aborted
  expect((await agent.call('/sessions/s/history')).status).toBe(404)
  expect((await agent.call('/sessions/s', { method: 'DELETE' })).status).toBe(404)
})

test('GET, DELETE /sessions and /memory: 401 without the token', async () => {
  await using agent = await startTestAgent()
  for (const [method, path] of [
    ['GET', '/sessions'],
    ['GET', '/sessions/s/history'],
    ['DELETE', '/sessions/s'],
    ['DELETE', '/memory'],
  ] as const) {
    expect((await fetch(`${agent.url}${path}`, { method })).status).toBe(401)
  }
})

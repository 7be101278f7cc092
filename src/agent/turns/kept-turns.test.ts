import { expect, test } from 'bun:test'
import { chunk, fails, hangs, says, sends } from '../../../tests/harness/doubles/platform.ts'
import { startTestAgent } from '../../../tests/harness/test-agent.ts'
import { until } from '../../../tests/harness/until.ts'

type Agent = Awaited<ReturnType<typeof startTestAgent>>

const ask = (agent: Agent, id: string, content = 'Hi', signal?: AbortSignal) =>
  agent.call('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-key': 's', 'x-turn-id': id },
    body: JSON.stringify({ model: 'default', stream: true, messages: [{ role: 'user', content }] }),
    ...(signal && { signal }),
  })
const join = (agent: Agent, id: string) => agent.call(`/turns/${id}`)
const stop = (agent: Agent, id: string) => agent.call(`/turns/${id}/stop`, { method: 'POST' })

async function textOf(response: Response | Promise<Response>): Promise<string> {
  const body = await (await response).text()
  const chunks = body.split('\n\n').filter((line) => line.startsWith('data: {'))
  return chunks.map((line) => JSON.parse(line.slice('data: '.length)).choices?.[0]?.delta?.content ?? '').join('')
}

async function historyOf(agent: Agent): Promise<string[]> {
  const { items } = JSON.parse(await (await agent.call('/sessions/s/history')).text())
  return (items ?? []).map(({ content }: { content: string }) => content)
}

test('POST /v1/chat/completions: 200 with the whole turn for a later caller when the first one disconnects', async () => {
  await using agent = await startTestAgent()
  const slow = hangs('begun ')
  agent.platform.next(slow.answerer)
  const caller = new AbortController()
  const response = await ask(agent, 'turn_1', 'Hi', caller.signal)
  await response.body?.getReader().read()
  caller.abort()
  const joined = [join(agent, 'turn_1'), ask(agent, 'turn_1')]
  await Promise.all(joined)
  slow.release()
  const [first, second] = await Promise.all(joined.map(textOf))
  expect(first).toStartWith('begun ')
  expect(second).toBe(first)
  expect(await historyOf(agent)).toEqual(['Hi', first ?? ''])
  expect(agent.platform.asked).toHaveLength(1)
})

test('GET /turns/:id: 200 from disk without a model call when the turn has finished, also after a restart', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(says('Hel', 'lo'))
  expect(await textOf(ask(agent, 'turn_1'))).toBe('Hello')
  await agent.restart()
  expect(await textOf(join(agent, 'turn_1'))).toBe('Hello')
  expect(await textOf(ask(agent, 'turn_1'))).toBe('Hello')
  expect(agent.platform.asked).toHaveLength(1)
  expect(await historyOf(agent)).toEqual(['Hi', 'Hello'])
})

test('GET /turns/:id: 429 with the same message when the turn failed with it; the session is unchanged', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(fails(429, 'Token quota exceeded'))
  const statuses = [await ask(agent, 'turn_1'), await ask(agent, 'turn_1'), await join(agent, 'turn_1')]
  expect(statuses.map(({ status }) => status)).toEqual([429, 429, 429])
  agent.platform.next(sends(chunk({ content: 'half' })))
  await (await ask(agent, 'turn_2')).text()
  expect(await (await join(agent, 'turn_2')).text()).toContain('cut off')
  expect(agent.platform.asked).toHaveLength(2)
})

test('POST /turns/:id/stop: 200 and the model call ends, the session keeps the text, and the turn reports the stop', async () => {
  await using agent = await startTestAgent()
  const slow = hangs('Once upon')
  agent.platform.next(slow.answerer)
  const response = await ask(agent, 'turn_1')
  await response.body?.getReader().read()
  await until('the text', async () => (await agent.call('/healthz')).ok)
  expect((await stop(agent, 'turn_1')).status).toBe(200)
  await slow.aborted
  const again = await (await join(agent, 'turn_1')).text()
  expect(again).toContain('TURN_STOPPED')
  expect(await historyOf(agent)).toEqual(['Hi', 'Once upon'])
  agent.platform.next(says('Yes.'))
  expect(await textOf(ask(agent, 'turn_2', 'Go on'))).toBe('Yes.')
  expect(agent.platform.asked.at(-1)?.messages.map(({ content }) => content)).toContain('Once upon')
  expect((await stop(agent, 'turn_2')).status).toBe(200)
})

test('GET /turns/:id: 404 TURN_NOT_FOUND when the turn is unknown', async () => {
  await using agent = await startTestAgent()
  const missing = await join(agent, 'turn_missing')
  expect([missing.status, await missing.json()]).toMatchObject([404, { error: { code: 'TURN_NOT_FOUND' } }])
})

test('stop waits for a turn when no caller reads it', async () => {
  await using agent = await startTestAgent()
  const slow = hangs('begun')
  agent.platform.next(slow.answerer)
  const caller = new AbortController()
  const response = await ask(agent, 'turn_1', 'Hi', caller.signal)
  await response.body?.getReader().read()
  caller.abort()
  const stopped = agent.stop(5000)
  slow.release()
  await stopped
  await using second = await startTestAgent({ folder: agent.folder })
  expect(await textOf(join(second, 'turn_1'))).toStartWith('begun')
})

test('GET /turns/:id: 401 without the token, 400 when the id is invalid', async () => {
  await using agent = await startTestAgent()
  for (const [path, method] of [
    ['/turns/turn_1', 'GET'],
    ['/turns/turn_1/stop', 'POST'],
  ]) {
    const response = await agent.call(path ?? '', { method: method ?? '', headers: { authorization: '' } })
    expect(response.status).toBe(401)
  }
  expect((await ask(agent, 'no/turn')).status).toBe(400)
  expect((await ask(agent, 'x'.repeat(65))).status).toBe(400)
})

import { expect, test } from 'bun:test'
import { callsTool, chunk, DONE, fails, hangs, says, sends } from '../../tests/harness/doubles/platform.ts'
import { atMostMs } from '../../tests/harness/speed/promised-times.ts'
import { startTestAgent } from '../../tests/harness/test-agent.ts'
import { needsConfinement, TOOL_NAMES } from '../core/agents/agent-tools.ts'

const events = (text: string) =>
  text
    .split('\n\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length))

test('POST /v1/chat/completions: 401 without the token or with a wrong one, without a model call', async () => {
  await using agent = await startTestAgent()
  for (const authorization of ['', 'Bearer ', 'Bearer wrong', `Basic ${agent.token}`]) {
    const response = await agent.call('/v1/chat/completions', { method: 'POST', body: '{', headers: { authorization } })
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({ error: { message: 'Unauthorized', type: 'unauthorized' } })
  }
  expect(agent.platform.asked).toHaveLength(0)
})

test('POST /v1/chat/completions: 200 in the OpenAI format, with the reported model and usage', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(says('Hel', 'lo'))
  const response = await agent.chat('Hi')
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    id: expect.stringMatching(/^chatcmpl-/),
    created: expect.any(Number),
    object: 'chat.completion',
    model: 'served-1',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  })
  expect(agent.platform.tokens).toEqual(['Bearer agt_platform-token'])
  expect(agent.platform.asked[0]?.model).toBe('solo')
})

test('POST /v1/chat/completions: 200 with chunks, the requested usage and [DONE] when stream is true', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(says('Hel', 'lo'))
  const response = await agent.chat('Hi', undefined, { stream: true, stream_options: { include_usage: true } })
  expect(response.headers.get('content-type')).toStartWith('text/event-stream')
  const data = events(await response.text())
  expect(data.at(-1)).toBe('[DONE]')
  const chunks = data.slice(0, -1).map((line) => JSON.parse(line))
  expect(chunks.map((each) => each.choices[0]?.delta.content ?? '').join('')).toBe('Hello')
  expect(chunks[0].choices[0].delta.role).toBe('assistant')
  expect(chunks.every((each) => each.model === 'served-1' && each.object === 'chat.completion.chunk')).toBe(true)
  expect(chunks.at(-2).choices[0].finish_reason).toBe('stop')
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 15 } })
})

test('POST /v1/chat/completions: 200 without a usage chunk when the stream does not request one', async () => {
  await using agent = await startTestAgent()
  expect(await (await agent.chat('Hi', undefined, { stream: true })).text()).not.toContain('"usage"')
})

test('POST /v1/chat/completions: 200 with deltas before the model has finished when stream is true', async () => {
  await using agent = await startTestAgent()
  const slow = hangs('first')
  agent.platform.next(slow.answerer)
  const response = await agent.chat('Hi', undefined, { stream: true })
  let text = ''
  for await (const bytes of response.body ?? []) {
    text += Buffer.from(bytes).toString()
    if (text.includes('first')) slow.release()
  }
  expect(text).toContain('late')
  expect(text).toEndWith(DONE)
})

const badBodies: [string, string, string][] = [
  ['no JSON', '{', 'Malformed JSON'],
  ['no messages', '{}', 'messages must be a list'],
  ['empty messages', '{"messages":[]}', 'messages is empty'],
  ['an assistant message at the end', '{"messages":[{"role":"assistant","content":"x"}]}', 'The last message must be'],
  ['an empty user message', '{"messages":[{"role":"user","content":" "}]}', 'The last message must be'],
  ['a tool message', '{"messages":[{"role":"tool","content":"x"}]}', 'Message role must be'],
  [
    'an image',
    '{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}',
    'Message content must',
  ],
  ['two answers', '{"n":2,"messages":[{"role":"user","content":"x"}]}', 'n must be 1'],
]
test.each(badBodies)(
  'POST /v1/chat/completions: 400 in the OpenAI format when the request has %s',
  async (_name, body, message) => {
    await using agent = await startTestAgent()
    const headers = { 'content-type': 'application/json' }
    const response = await agent.call('/v1/chat/completions', { method: 'POST', headers, body })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: { message: expect.stringContaining(message), type: 'invalid_request_error' },
    })
    expect(agent.platform.asked).toHaveLength(0)
  },
)

test('POST /v1/chat/completions: 413 when the body exceeds 1 MB', async () => {
  await using agent = await startTestAgent()
  expect((await agent.chat('x'.repeat(1024 * 1024))).status).toBe(413)
})

test('POST /v1/chat/completions: 400 when a session key has 257 characters', async () => {
  await using agent = await startTestAgent()
  expect((await agent.chat('Hi', 'k'.repeat(257))).status).toBe(400)
  expect((await agent.chat('Hi', undefined, { user: 'k'.repeat(257) })).status).toBe(400)
})

const refusals: [string, ReturnType<typeof says>, number, string, string][] = [
  ['an exhausted quota', fails(429, 'Token quota exceeded'), 429, 'Token quota exceeded', 'rate_limit_error'],
  ['a failing platform', fails(500, 'boom'), 502, 'boom', 'upstream_error'],
  ['a platform that timed out', fails(504, 'slow'), 504, 'slow', 'upstream_timeout'],
  ['a refused platform token', fails(401, 'no'), 502, 'refused the token', 'upstream_error'],
  ['an error page', sends('<html>', 'text/html'), 502, 'not a completion stream', 'upstream_error'],
  ['an empty stream', sends(''), 502, 'cut off', 'upstream_error'],
  ['an empty answer', says(), 502, 'empty answer', 'upstream_error'],
  ['a stream without [DONE]', sends(chunk({ content: 'x' }) + chunk({}, 'stop')), 502, 'cut off', 'upstream_error'],
  ['a stream without a finish reason', sends(chunk({ content: 'x' }) + DONE), 502, 'cut off', 'upstream_error'],
  ['invalid data in the stream', sends(`data: {]\n\n${DONE}`), 502, 'cut off', 'upstream_error'],
  [
    'an error in the stream',
    sends(`${chunk({ content: 'x' })}data: {"error":{"message":"overloaded","type":"x"}}\n\n${DONE}`),
    502,
    'overloaded',
    'upstream_error',
  ],
  [
    'a limit in the stream',
    sends(`data: {"error":{"message":"enough","type":"rate_limit_error"}}\n\n${DONE}`),
    429,
    'enough',
    'rate_limit_error',
  ],
]
test.each(refusals)('POST /v1/chat/completions: an error status when %s; the session is unchanged', async (...row) => {
  const [, answer, status, message, type] = row
  await using agent = await startTestAgent()
  await agent.chat('before', 's')
  const before = await (await agent.call('/sessions/s/history')).text()
  agent.platform.next(answer)
  const response = await agent.chat('fails', 's')
  expect(response.status).toBe(status)
  expect(await response.json()).toEqual({ error: { message: expect.stringContaining(message), type } })
  expect(await (await agent.call('/sessions/s/history')).text()).toBe(before)
  const after = await agent.chat('after', 's')
  expect(after.status).toBe(200)
  expect(agent.platform.asked.at(-1)?.messages.map((each) => each.content)).not.toContain('fails')
})

test('POST /v1/chat/completions: 502 when the platform cannot be reached', async () => {
  await using agent = await startTestAgent()
  await agent.platform.stop()
  const response = await agent.chat('Hi', 's')
  expect(response.status).toBe(502)
  expect(await response.json()).toMatchObject({ error: { message: 'The platform cannot be reached' } })
  expect((await agent.call('/sessions/s/history')).status).toBe(404)
})

test('POST /v1/chat/completions: 504 when the platform stays silent, before or during the answer', async () => {
  await using agent = await startTestAgent({ idleMs: 100 })
  for (const parts of [[], ['begun']]) {
    const silent = hangs(...parts)
    agent.platform.next(silent.answerer)
    const response = await agent.chat('Hi', 's')
    expect(response.status).toBe(504)
    expect(await response.json()).toMatchObject({ error: { message: 'The platform did not answer in time' } })
    await silent.aborted
  }
})

test('POST /v1/chat/completions: 504 when a turn exceeds its time limit', async () => {
  await using agent = await startTestAgent({ maxTurnMs: 100 })
  agent.platform.next(hangs('begun').answerer)
  const response = await agent.chat('Hi')
  expect(response.status).toBe(504)
  expect(await response.json()).toMatchObject({ error: { message: 'The answer took too long' } })
})

test('POST /v1/chat/completions: 429 as the status and not as an event when stream is true', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(fails(429, 'Token quota exceeded'))
  const response = await agent.chat('Hi', undefined, { stream: true })
  expect(response.status).toBe(429)
  expect(await response.json()).toMatchObject({ error: { message: 'Token quota exceeded' } })
})

test('POST /v1/chat/completions: 200 with an error event and without [DONE] when a stream breaks', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(sends(chunk({ content: 'half' })))
  const data = events(await (await agent.chat('Hi', 's', { stream: true })).text())
  expect(data).not.toContain('[DONE]')
  expect(JSON.parse(data.at(-1) ?? '')).toMatchObject({ error: { type: 'upstream_error' } })
  expect((await agent.call('/sessions/s/history')).status).toBe(404)
})

test.each([false, true])(
  'POST /v1/chat/completions: ends the model call within a second when the caller disconnects, stream %p',
  async (stream) => {
    await using agent = await startTestAgent()
    const slow = hangs('begun')
    agent.platform.next(slow.answerer)
    const hangUp = new AbortController()
    const asked = agent.platform.nextAsked()
    const response = agent.chat('Hi', 's', { stream }, hangUp.signal)
    await asked
    if (stream) await (await response).body?.getReader().read()
    const startedAt = performance.now()
    hangUp.abort()
    await response.catch(() => undefined)
    await slow.aborted
    expect(performance.now() - startedAt).toBeLessThan(atMostMs(1000))
    expect((await agent.chat('next', 's')).status).toBe(200)
    expect(agent.platform.asked.at(-1)?.messages.map((each) => each.content)).not.toContain('Hi')
  },
)

test('POST /v1/chat/completions: 200 without tools, from then on, when the model rejects them', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(fails(400, 'model does not support tools'), says('fine'), says('fine again'))
  expect((await agent.chat('Hi')).status).toBe(200)
  expect((await agent.chat('Hi')).status).toBe(200)
  // Command tools need a container.
  const offered = TOOL_NAMES.filter((name) => !needsConfinement(name)).length
  expect(agent.platform.asked.map((each) => each.tools?.length ?? 0)).toEqual([offered, 0, 0])
})

test('POST /v1/chat/completions: 200 with the answer of the eighth step when the model only calls tools', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(
    ...Array.from({ length: 7 }, (_, nth) => callsTool('search_files', { text: `${nth}` })),
    says('done'),
  )
  expect(await (await agent.chat('Hi')).json()).toMatchObject({
    choices: [{ message: { content: 'done' } }],
    usage: { prompt_tokens: 80, completion_tokens: 40 },
  })
  expect(agent.platform.asked).toHaveLength(8)
  expect(agent.platform.asked.at(-1)?.tool_choice).toBe('none')
})

test('POST /v1/chat/completions: 200 with two paragraphs when a tool call is between two texts', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(callsTool('list_files', {}, 'Let me look.'), says('It is empty.'))
  expect(await (await agent.chat('Hi')).json()).toMatchObject({
    choices: [{ message: { content: 'Let me look.\n\nIt is empty.' } }],
  })
})

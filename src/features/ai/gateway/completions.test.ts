import { expect, test } from 'bun:test'
import { aiPlatform, echoProvider } from '../../../../tests/harness/ai-platform.ts'
import type { Fault } from '../../../../tests/harness/doubles/provider.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'
import { readAllEvents } from '../../../../tests/harness/wires/events.ts'
import { write } from '../../../db/write.ts'
import { usageMonths } from '../usage/tables.ts'

const MODEL = 'openai/gpt-4o-mini'
const HELLO = { model: MODEL, messages: [{ role: 'user', content: 'Hi' }] }
const STREAMED = { ...HELLO, stream: true }
const PATH = '/v1/chat/completions'

test('POST /v1/chat/completions: 200 with the provider’s answer unchanged, and the call is recorded', async () => {
  await using test = await aiPlatform()
  const { key, user } = await test.join()
  const response = await test.ask(PATH, HELLO, bearer(key))
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('x-model')).toBe(MODEL)
  expect(await response.json()).toEqual({
    id: 'chatcmpl-double',
    object: 'chat.completion',
    created: 1_800_000_000,
    model: MODEL,
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 },
  })
  expect(await test.recordedUsage()).toMatchObject([
    { userId: user.id, agentId: 'direct', endpoint: PATH, inputTokens: 1000, outputTokens: 500, costMicroUsd: 450 },
  ])
})

test('POST /v1/chat/completions: 200 with an agent’s token, recorded for its owner and the agent', async () => {
  await using test = await aiPlatform()
  const { agentToken, agentId, user } = await test.join()
  expect((await test.ask(PATH, HELLO, bearer(agentToken))).status).toBe(200)
  expect(await test.recordedUsage()).toMatchObject([{ userId: user.id, agentId }])
})

test('POST /v1/chat/completions: 200 with the internal key, for the user and plan of its headers; 402 without them', async () => {
  await using test = await aiPlatform()
  const identity = { 'x-user-id': 'usr_1', 'x-user-plan': 'label', 'x-billing-subscription-id': 'sub_1' }
  expect((await test.ask(PATH, HELLO, { ...bearer(INTERNAL_KEY), ...identity })).status).toBe(200)
  expect((await test.ask(PATH, HELLO, bearer(INTERNAL_KEY))).status).toBe(402)
  expect(await test.recordedUsage()).toMatchObject([{ userId: 'usr_1', agentId: 'direct' }])
})

test('POST /v1/chat/completions: 200 with tools, their results and unknown fields unchanged', async () => {
  await using test = await aiPlatform()
  const { agentToken } = await test.join()
  const call = { id: 'call_0', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } }
  const body = {
    model: MODEL,
    messages: [
      { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
      { role: 'user', content: 'Read a', name: 'ada' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_0', content: 'text' },
    ],
    tools: [{ type: 'function', function: { name: 'read_file', parameters: { type: 'object' }, strict: true } }],
    tool_choice: 'auto',
    max_completion_tokens: 7,
    reasoning_effort: 'low',
    nobody_knows: { this: [1, null, 'field'] },
  }
  test.provider.answerWith({ toolCalls: [{ name: 'read_file', arguments: { path: 'b' } }] })
  const response = await test.ask(PATH, body, bearer(agentToken))
  expect(test.provider.chats[0]?.body).toEqual(body)
  expect(await response.json()).toMatchObject({
    choices: [
      {
        message: { tool_calls: [{ id: 'call_0', function: { name: 'read_file', arguments: '{"path":"b"}' } }] },
        finish_reason: 'tool_calls',
      },
    ],
  })
})

test('POST /v1/chat/completions: 200 with streamed tool calls unchanged', async () => {
  await using test = await aiPlatform()
  const { agentToken } = await test.join()
  test.provider.answerWith({ toolCalls: [{ name: 'list_files', arguments: {} }] })
  const events = await readAllEvents(await test.ask(PATH, STREAMED, bearer(agentToken)))
  expect(JSON.parse(events[0]?.data ?? '')).toMatchObject({
    choices: [{ delta: { tool_calls: [{ index: 0, id: 'call_0', function: { name: 'list_files' } }] } }],
  })
  expect(events.at(-1)?.data).toBe('[DONE]')
})

test('POST /v1/chat/completions: 200 streams each chunk unchanged, usage and [DONE], and the call is recorded', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join()
  test.provider.answerWith({ text: ['Hel', 'lo, ', 'wörld ', '🌍'] })
  const response = await test.ask(PATH, STREAMED, bearer(key))
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toStartWith('text/event-stream')
  expect(response.headers.get('x-model')).toBe(MODEL)
  const events = (await readAllEvents(response)).map(({ data }) => data)
  expect(events.at(-1)).toBe('[DONE]')
  const chunks = events.slice(0, -1).map((data) => JSON.parse(data))
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '')).toEqual(['Hel', 'lo, ', 'wörld ', '🌍', '', ''])
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 1000, completion_tokens: 500 } })
  expect(test.provider.chats[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } })
  expect(await test.recordedUsage()).toMatchObject([
    { inputTokens: 1000, outputTokens: 500, costMicroUsd: 450, success: true },
  ])
})

test.each([
  [{}, 'messages must be an array'],
  [{ messages: [] }, 'messages must not be empty'],
  [{ messages: ['Hi'] }, expect.any(String)],
  [{ messages: [{ content: 'Hi' }] }, 'role must be text'],
  [{ ...HELLO, model: 7 }, 'model must be text'],
  [{ ...HELLO, stream: 'yes' }, 'stream must be true or false'],
])('POST /v1/chat/completions: 400 in OpenAI’s format when the body is %j', async (body, message) => {
  await using test = await aiPlatform()
  const { key } = await test.join()
  const response = await test.ask(PATH, body, bearer(key))
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error: { message, type: 'invalid_request_error', code: null, param: null } })
  expect(test.provider.chats).toEqual([])
})

test.each(['/v1/models', PATH])('%s: 401 without a token and with a wrong one', async (path) => {
  await using test = await aiPlatform()
  const statusOf = async (headers: Record<string, string>) => {
    const init = path === PATH ? json('POST', HELLO, headers) : { headers }
    const response = await test.backend.request(path, init)
    expect(await response.json()).toEqual({
      error: { message: expect.any(String), type: expect.any(String), code: null, param: null },
    })
    return response.status
  }
  const identity = {
    'x-user-plan': 'network',
    'x-billing-subscription-id': 'sub_1',
    'x-user-email': 'root@example.com',
  }
  const wrong = ['sk_wrong', 'agt_wrong', 'wrong'].map((token) => ({ ...bearer(token), ...identity }))
  for (const headers of [{}, identity, ...wrong, { authorization: 'Basic abc' }, { 'x-api-key': 'wrong' }])
    expect(await statusOf(headers)).toBe(401)
  expect(test.provider.chats).toEqual([])
})

test('POST /v1/chat/completions: 402, 403 and 429 for a key when plan, model or quota refuse, 429 for an agent', async () => {
  await using test = await aiPlatform()
  const poor = await test.join(null, 'poor@example.com')
  const solo = await test.join('solo', 'solo@example.com')
  const spent = await test.join('solo', 'spent@example.com')
  const month = test.clock.now().toISOString().slice(0, 7)
  await write(test.platform.db, (tx) =>
    tx.insert(usageMonths).values({ userId: spent.user.id, month, tokens: 2_000_000 }).run(),
  )
  const cases = [
    { who: poor, body: HELLO, status: 402, code: 'PLAN_REQUIRED' },
    { who: solo, body: { ...HELLO, model: 'openai/gpt-4' }, status: 403, code: 'MODEL_RESTRICTED' },
    { who: spent, body: HELLO, status: 429, code: 'QUOTA_EXCEEDED' },
  ]
  for (const { who, body, status, code } of cases) {
    const withKey = await test.ask(PATH, body, bearer(who.key))
    expect(withKey.status).toBe(status)
    expect(await withKey.json()).toMatchObject({ error: { code } })
    const withAgent = await test.ask(PATH, { ...body, stream: true }, bearer(who.agentToken))
    expect(withAgent.status).toBe(429)
    expect(await withAgent.json()).toMatchObject({
      error: { code, type: 'rate_limit_error', message: expect.stringMatching(/\w{5}/) },
    })
  }
  expect(test.provider.chats).toEqual([])
})

test('POST /v1/chat/completions: 403 for a model without a known price when the plan has a budget', async () => {
  await using test = await aiPlatform()
  await test.platform.catalogue.refresh(new AbortController().signal)
  const body = { ...HELLO, model: 'unknown/nobody-knows-its-price' }
  const solo = await test.join('solo')
  const network = await test.join('network', 'eve@example.com')
  expect((await test.ask(PATH, body, bearer(solo.key))).status).toBe(403)
  expect((await test.ask(PATH, body, bearer(network.key))).status).toBe(200)
})

/** Long enough for whatever does answer. */
const SLOW_MS = 1500
const NOTHING = { inputTokens: 0, outputTokens: 0, costMicroUsd: 0, estimated: false }
const RESERVED = { inputTokens: 6, outputTokens: 4096, estimated: true }
const BEFORE_THE_FIRST_PIECE: [Fault, number, object][] = [
  [{ status: 401 }, 502, NOTHING],
  [{ status: 400 }, 400, NOTHING],
  [{ status: 500 }, 502, NOTHING],
  [{ status: 503 }, 502, NOTHING],
  [{ status: 429, headers: { 'retry-after': '17' } }, 429, NOTHING],
  ['reset', 502, RESERVED],
  ['html', 502, NOTHING],
  ['hang', 504, RESERVED],
]

test.each(BEFORE_THE_FIRST_PIECE)(
  'POST /v1/chat/completions: when a stream fails with %j before it begins, %d',
  async (fault, status, used) => {
    await using test = await aiPlatform({ timeoutMs: fault === 'hang' ? SLOW_MS : 60_000 })
    const { key } = await test.join()
    test.provider.answerWith({ fault })
    const response = await test.ask(PATH, STREAMED, bearer(key))
    expect(response.status).toBe(status)
    expect(response.headers.get('retry-after')).toBe(status === 429 ? '17' : null)
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining('AI provider openrouter') },
    })
    expect(await test.recordedUsage()).toMatchObject([{ success: false, ...used }])
  },
)

test.each<[Fault, object]>([
  [{ cutAtByte: 100 }, RESERVED],
  ['malformed-json', RESERVED],
  ['empty-choices', { inputTokens: 1000, outputTokens: 500, estimated: false }],
])('POST /v1/chat/completions: 502 when a stream breaks with %j before its first word', async (fault, used) => {
  await using test = await aiPlatform()
  const { key } = await test.join()
  test.provider.answerWith({ text: ['One. '], fault })
  const response = await test.ask(PATH, STREAMED, bearer(key))
  expect(response.status).toBe(502)
  expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('openrouter') } })
  expect(await test.recordedUsage()).toMatchObject([{ success: false, ...used }])
})

test.each<[Fault]>([['no-done'], ['hang-mid-body']])(
  'POST /v1/chat/completions: 200 with an error event and without [DONE] when a stream breaks with %j',
  async (fault) => {
    await using test = await aiPlatform({ timeoutMs: fault === 'hang-mid-body' ? SLOW_MS : 60_000 })
    const { key } = await test.join()
    test.provider.answerWith({ text: ['One. ', 'Two. ', 'Three. '], fault })
    const response = await test.ask(PATH, STREAMED, bearer(key))
    expect(response.status).toBe(200)
    const events = (await readAllEvents(response)).map(({ data }) => data)
    expect(events).not.toContain('[DONE]')
    expect(JSON.parse(events.at(-1) ?? '')).toEqual({
      error: { message: expect.stringContaining('openrouter'), type: 'api_error', code: null, param: null },
    })
    const [row] = await test.recordedUsage()
    expect(row).toMatchObject({ success: false, errorMessage: expect.stringContaining('openrouter') })
    expect(row?.outputTokens).toBeGreaterThan(0)
  },
)

test('POST /v1/chat/completions: 200 with counted usage, marked as estimated, when a stream has no counts', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join()
  test.provider.answerWith({ text: ['Once upon a time ', 'there was a house.'], usage: null })
  await readAllEvents(await test.ask(PATH, STREAMED, bearer(key)))
  expect(await test.recordedUsage()).toMatchObject([
    { inputTokens: 6, outputTokens: 9, estimated: true, success: true },
  ])
})

test('POST /v1/chat/completions: 413 above 8 MB, and above 1 MB on other routes', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('network')
  const messages = (megabytes: number) => [{ role: 'user', content: 'x'.repeat(megabytes * 1024 * 1024) }]
  expect((await test.ask(PATH, { ...HELLO, messages: messages(7.9) }, bearer(key))).status).toBe(200)
  expect((await test.ask(PATH, { ...HELLO, messages: messages(8.1) }, bearer(key))).status).toBe(413)
  expect((await test.ask('/api/ai/chat', { ...HELLO, messages: messages(0.9) }, bearer(key))).status).toBe(200)
  const tooLarge = await test.ask('/api/ai/chat', { ...HELLO, messages: messages(1.1) }, bearer(key))
  expect(tooLarge.status).toBe(413)
  expect(await tooLarge.json()).toEqual({ error: 'Request body too large' })
})

test('POST /v1/chat/completions: 429 when one bearer exceeds its rate, not when several share an address', async () => {
  await using test = await aiPlatform({ environment: { RATE_LIMIT_BACKEND: '1' } })
  const ada = await test.join('solo', 'ada@example.com')
  const eve = await test.join('solo', 'eve@example.com')
  expect((await test.ask(PATH, HELLO, bearer(ada.agentToken))).status).toBe(200)
  const refused = await test.ask(PATH, HELLO, bearer(ada.agentToken))
  expect(refused.status).toBe(429)
  expect(await refused.json()).toMatchObject({
    error: { message: 'Too many requests, please slow down.', type: 'rate_limit_error' },
  })
  expect((await test.ask(PATH, HELLO, bearer(eve.agentToken))).status).toBe(200)
})

test('POST /v1/chat/completions: 401 when a bearer is invented, any number of times, without counting it', async () => {
  await using test = await aiPlatform({ environment: { RATE_LIMIT_BACKEND: '1' } })
  for (let count = 0; count < 3; count++) {
    const response = await test.ask(PATH, HELLO, bearer('agt_made-up'))
    expect(response.status).toBe(401)
    expect(response.headers.has('ratelimit-limit')).toBe(false)
  }
})

test.each([{ n: 2000 }, { max_completion_tokens: 1, max_tokens: 2_000_000 }])(
  'POST /v1/chat/completions: 429 when the answer may exceed the quota: %j',
  async (size) => {
    await using test = await aiPlatform()
    const { key } = await test.join('solo')
    const response = await test.ask(PATH, { ...HELLO, ...size }, bearer(key))
    expect(response.status).toBe(429)
    expect(await response.json()).toMatchObject({ error: { code: 'QUOTA_EXCEEDED' } })
    expect(test.provider.chats).toEqual([])
  },
)

test.each([HELLO, STREAMED])(
  'POST /v1/chat/completions: 200 labelled as local in %j when the model is the offline one',
  async (body) => {
    const { backend, platform } = testPlatform({ providers: [echoProvider()] })
    await platform.catalogue.refresh(new AbortController().signal)
    const headers = { ...bearer(INTERNAL_KEY), 'x-user-plan': 'solo', 'x-billing-subscription-id': 'sub_1' }
    const response = await backend.request(PATH, json('POST', { ...body, model: 'local/echo' }, headers))
    expect(response.headers.get('x-model')).toBe('local/echo')
    const text = await response.text()
    expect(text).toContain('"provider":"local"')
    expect(text).toContain('[offline echo] Hi')
    await platform.usage.flush()
  },
)

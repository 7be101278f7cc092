import { expect, test } from 'bun:test'
import { z } from 'zod'
import { testPlatform } from '../../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../../tests/harness/requests.ts'
import type { VendorAnswer } from '../../../../../tests/harness/vendors/script.ts'
import { startVendor, VENDOR_KEY } from '../../../../../tests/harness/vendors/vendor.ts'
import { readAllEvents } from '../../../../../tests/harness/wires/events.ts'
import { createHttpProvider } from '../../../../adapters/models/http-provider.ts'
import type { Dialect } from '../../../../adapters/models/provider.ts'
import { createKey } from '../../../accounts/keys/keys.ts'
import { usageLogs } from '../../usage/tables.ts'
import { AnthropicModel, AnthropicModelList } from './anthropic-models.ts'
import { CountedTokens } from './messages-schemas.ts'

const PATH = '/v1/messages'
const CLAUDE = 'claude-sonnet-4-5'
const GPT = 'gpt-4o-mini'
const HI = { model: CLAUDE, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }
const TOOL = { name: 'read_clock', description: 'Reads the clock.', input_schema: { type: 'object' } }

type Options = { dialects?: readonly Dialect[]; plan?: string | null; limits?: Parameters<typeof createKey>[2] }

/** A platform with Anthropic, which serves Messages, and OpenAI, which serves only Chat Completions here. */
async function messagesPlatform({ dialects = ['chat'], plan = 'network', limits }: Options = {}) {
  const anthropic = await startVendor({ models: [CLAUDE, `${CLAUDE}-20250929`], dialects: ['messages'] })
  const openai = await startVendor({ models: [GPT], dialects: ['chat'] })
  const open = (id: string, baseUrl: string, spoken: readonly Dialect[]) =>
    createHttpProvider({ id, baseUrl, apiKey: VENDOR_KEY, timeoutMs: 60_000, dialects: spoken }, { fetch })
  const test = testPlatform({
    providers: [open('anthropic', anthropic.baseUrl, ['messages']), open('openai', openai.baseUrl, dialects)],
  })
  const { user } = await test.signIn('ada@example.com', plan)
  const { key } = await createKey({ db: test.platform.db, clock: test.clock }, user.id, { name: 'laptop', ...limits })
  return {
    ...test,
    anthropic,
    openai,
    key,
    ask: (body: unknown, headers: Record<string, string> = { 'x-api-key': key }, path = PATH) =>
      test.backend.request(path, json('POST', body, headers)),
    recordedUsage: async () => {
      await test.platform.usage.settle()
      return test.platform.db.select().from(usageLogs).all()
    },
    async [Symbol.asyncDispose]() {
      await anthropic[Symbol.asyncDispose]()
      await openai[Symbol.asyncDispose]()
    },
  }
}

const eventsOf = async (response: Response) =>
  (await readAllEvents(response)).map(({ event, data }) => ({ event, data: JSON.parse(data) }))

const CACHED = {
  text: 'Hello.',
  usage: { input: 1000, output: 100, cached: 600, written: 200, writtenForHour: 100 },
} satisfies VendorAnswer
/** 100 new, 600 cached, 200 written for 5 minutes and 100 for an hour, 100 output tokens at $3, $0.30, $3.75, $6 and $15. */
const CACHED_COST = 100 * 3 + 600 * 0.3 + 200 * 3.75 + 100 * 6 + 100 * 15

test('POST /v1/messages: 200 with the vendor’s answer unchanged, cached tokens priced', async () => {
  await using test = await messagesPlatform()
  test.anthropic.answerWith(CACHED)
  const body = {
    ...HI,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    thinking: { type: 'disabled' },
    fallbacks: [GPT],
  }
  const headers = {
    'x-api-key': test.key,
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'context-1m-2025-08-07',
  }
  const response = await test.ask(body, headers)
  expect(response.status).toBe(200)
  expect(response.headers.get('x-stead-model')).toBe('anthropic/claude-sonnet-4.5')
  expect(await response.json()).toMatchObject({ type: 'message', model: CLAUDE, content: [{ text: 'Hello.' }] })
  const { fallbacks, ...sent } = body
  expect(test.anthropic.calls[0]?.body as unknown).toEqual(sent)
  expect(test.anthropic.calls[0]?.headers).toMatchObject({ 'anthropic-beta': headers['anthropic-beta'] })
  expect(await test.recordedUsage()).toMatchObject([
    {
      endpoint: PATH,
      inputTokens: 1000,
      cachedInputTokens: 600,
      cacheCreationTokens: 200,
      cacheCreationHourTokens: 100,
      outputTokens: 100,
      costMicroUsd: CACHED_COST,
    },
  ])
})

test('POST /v1/messages: 200 with a dated model name unchanged, also when a bearer identifies the caller', async () => {
  await using test = await messagesPlatform()
  const dated = { ...HI, model: `anthropic/${CLAUDE}-20250929` }
  expect((await test.ask(dated, bearer(test.key))).headers.get('x-stead-model')).toBe('anthropic/claude-sonnet-4.5')
  expect(test.anthropic.calls[0]?.body.model).toBe(`${CLAUDE}-20250929`)
})

test('POST /v1/messages: 200 streams the vendor’s events unchanged, and usage is recorded once', async () => {
  await using test = await messagesPlatform()
  test.anthropic.answerWith({
    ...CACHED,
    thinking: 'Hm.',
    toolCalls: [{ name: TOOL.name, arguments: { zone: 'UTC' } }],
  })
  const response = await test.ask({
    ...HI,
    max_tokens: 2000,
    stream: true,
    tools: [TOOL],
    thinking: { type: 'enabled', budget_tokens: 1024 },
  })
  expect(response.headers.get('x-stead-model')).toBe('anthropic/claude-sonnet-4.5')
  const events = await eventsOf(response)
  expect(events.every(({ event, data }) => event === data.type)).toBe(true)
  expect([events[0]?.event, events.at(-2)?.event, events.at(-1)?.event]).toEqual([
    'message_start',
    'message_delta',
    'message_stop',
  ])
  expect(JSON.stringify(events)).toContain('signature_delta')
  expect(await test.recordedUsage()).toMatchObject([
    { inputTokens: 1000, cachedInputTokens: 600, costMicroUsd: CACHED_COST },
  ])
})

const CONVERSATION = {
  model: GPT,
  max_tokens: 2000,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'What time is it?' }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'A clock helps.', signature: 'c2ln' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'toolu_1', name: TOOL.name, input: { zone: 'UTC' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Noon' }] },
  ],
  tools: [TOOL, { type: 'web_search_20250305', name: 'web_search' }],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  metadata: { user_id: 'ada' },
}

test('POST /v1/messages: 200 translated when the provider speaks Chat Completions', async () => {
  await using test = await messagesPlatform()
  test.openai.answerWith({
    text: 'Noon.',
    toolCalls: [{ name: TOOL.name, arguments: { zone: 'CET' } }],
    usage: CACHED.usage,
  })
  const response = await test.ask(CONVERSATION)
  expect([response.status, response.headers.get('x-stead-dropped')]).toEqual([200, 'web_search_20250305'])
  expect(await response.json()).toMatchObject({
    id: expect.stringMatching(/^msg_/),
    type: 'message',
    role: 'assistant',
    model: 'openai/gpt-4o-mini',
    content: [
      { type: 'text', text: 'Noon.' },
      { type: 'tool_use', name: TOOL.name, input: { zone: 'CET' } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { cache_read_input_tokens: 600, output_tokens: 100 },
  })
  const sent = test.openai.calls[0]?.body
  expect(sent).toMatchObject({ model: GPT, max_completion_tokens: 2000, parallel_tool_calls: false })
  expect(sent?.messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'What time is it?' },
    {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: TOOL.name, arguments: '{"zone":"UTC"}' } }],
    },
    { role: 'tool', tool_call_id: 'toolu_1', content: 'Noon' },
  ])
  expect(await test.recordedUsage()).toMatchObject([{ endpoint: PATH, inputTokens: 1000, cachedInputTokens: 600 }])
})

test('POST /v1/messages: 200 with Anthropic’s events in Anthropic’s order when a stream is translated', async () => {
  await using test = await messagesPlatform()
  test.openai.answerWith({
    thinking: 'Hm.',
    text: ['No', 'on.'],
    toolCalls: [
      { name: TOOL.name, arguments: { zone: 'CET' } },
      { name: TOOL.name, arguments: { zone: 'UTC' } },
    ],
  })
  const events = await eventsOf(
    await test.ask({ ...CONVERSATION, stream: true, thinking: { type: 'enabled', budget_tokens: 1024 } }),
  )
  const started = events.flatMap(({ data }) => (data.type === 'content_block_start' ? [data.content_block.type] : []))
  expect(started.filter((type) => type !== 'thinking')).toEqual(['text', 'tool_use', 'tool_use'])
  expect(events.map(({ event }) => event).filter((event) => event !== 'content_block_delta')).toEqual([
    'message_start',
    ...started.flatMap((_type, index) =>
      index === 0
        ? ['content_block_start', 'ping', 'content_block_stop']
        : ['content_block_start', 'content_block_stop'],
    ),
    'message_delta',
    'message_stop',
  ])
  // Stead counts what the provider reports only at the end.
  const usage = events[0]?.data.message.usage
  expect(usage).toMatchObject({ cache_read_input_tokens: 0, output_tokens: 0 })
  expect(usage.input_tokens).toBeWithin(20, 500)
  expect(events.at(-2)?.data).toEqual({
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: {
      input_tokens: 1000,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 500,
    },
  })
  expect(await test.recordedUsage()).toMatchObject([{ inputTokens: 1000, outputTokens: 500 }])
})

test.each([
  ['anthropic', HI],
  ['openai', { ...HI, model: GPT }],
] as const)(
  'POST /v1/messages: 200 with an error event, recorded once, when %s cuts off a stream',
  async (vendor, body) => {
    await using test = await messagesPlatform()
    const answered = Promise.withResolvers<void>()
    test[vendor].answerWith({
      text: ['Hel', 'lo.'],
      fault: { cutAfterEvents: 4 },
      beforeEvent: async (index) => (index === 4 ? answered.promise : undefined),
    })
    const response = await test.ask({ ...body, stream: true })
    answered.resolve()
    const events = await eventsOf(response)
    expect(events[0]?.event).toBe('message_start')
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { type: 'error', error: { type: 'api_error' } } })
    expect(events.some(({ event }) => event === 'message_stop')).toBe(false)
    const rows = await test.recordedUsage()
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({ success: false })
    expect(rows[0]?.inputTokens).toBeGreaterThan(0)
  },
)

test('POST /v1/messages: 200 from a translated fallback when the vendor is overloaded', async () => {
  await using test = await messagesPlatform()
  test.anthropic.answerWith({ fault: { status: 529 } })
  const response = await test.ask({ ...HI, fallbacks: [GPT] })
  expect([response.status, response.headers.get('x-stead-model')]).toEqual([200, 'openai/gpt-4o-mini'])
  expect(await response.json()).toMatchObject({ type: 'message', stop_reason: 'end_turn' })
})

const ErrorBody = z.object({ type: z.literal('error'), error: z.object({ type: z.string(), message: z.string() }) })
const errorOf = async (response: Response) => [response.status, (await read(ErrorBody, response)).error.type]
const user = (...content: object[]) => [{ role: 'user', content }]

test.each([
  ['a tool result without its call', { messages: user({ type: 'tool_result', tool_use_id: 'x', content: '' }) }],
  ['an unknown content type', { model: GPT, messages: user({ type: 'hologram' }) }],
  ['a tool that no other vendor has', { model: GPT, tools: [{ type: 'computer_20250124', name: 'computer' }] }],
  ['a field without meaning elsewhere', { model: GPT, top_k: 4 }],
  ['no max_tokens', { max_tokens: undefined }],
  ['no messages', { messages: [] }],
])('POST /v1/messages: 400 in Anthropic’s format for %s, and nothing is recorded', async (_what, change) => {
  await using test = await messagesPlatform()
  expect(await errorOf(await test.ask({ ...HI, ...change }))).toEqual([400, 'invalid_request_error'])
  expect([test.anthropic.calls, test.openai.calls, await test.recordedUsage()]).toEqual([[], [], []])
})

test('POST /v1/messages: 401, 402, 404, 413 and 429 in Anthropic’s format', async () => {
  await using test = await messagesPlatform({ plan: null })
  expect(await errorOf(await test.ask(HI, { 'x-api-key': 'sk_wrong' }))).toEqual([401, 'authentication_error'])
  expect(await errorOf(await test.ask(HI))).toEqual([402, 'billing_error'])
  await using planned = await messagesPlatform({ limits: { name: 'low', monthlyTokens: 10 } })
  expect(await errorOf(await planned.ask({ ...HI, model: 'claude-none' }))).toEqual([404, 'not_found_error'])
  const limited = await planned.ask(HI)
  expect(limited.status).toBe(429)
  expect(await limited.json()).toMatchObject({
    type: 'error',
    error: { type: 'rate_limit_error', details: { error_code: 'KEY_QUOTA_EXCEEDED' } },
    request_id: expect.any(String),
  })
  const large = await planned.ask({ ...HI, system: 'x'.repeat(8_500_000) })
  expect(await errorOf(large)).toEqual([413, 'request_too_large'])
  expect(await planned.recordedUsage()).toEqual([])
})

test('POST /v1/messages: a budget is never exceeded by 100 concurrent calls near it', async () => {
  await using test = await messagesPlatform({ limits: { name: 'budget', monthlyBudgetUsd: 0.02 } })
  test.anthropic.answerWith({ usage: { input: 30, output: 100, writtenForHour: 30 } })
  const body = { ...HI, system: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } }] }
  const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await test.ask(body)).status))
  const spent = (await test.recordedUsage()).reduce((sum, { costMicroUsd }) => sum + costMicroUsd, 0)
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  expect(spent).toBeGreaterThan(0)
  expect(spent).toBeLessThanOrEqual(20_000)
})

test('POST /v1/messages/count_tokens: 200 with the tokens, 404 when the model is unknown, 400 for a result without a call', async () => {
  await using test = await messagesPlatform()
  const count = (body: object) => test.ask(body, { 'x-api-key': test.key }, `${PATH}/count_tokens`)
  const { max_tokens: _limit, ...counted } = CONVERSATION
  const response = await count(counted)
  expect(response.status).toBe(200)
  expect((await read(CountedTokens, response)).input_tokens).toBeGreaterThan(20)
  expect(await errorOf(await count({ ...counted, model: 'claude-none' }))).toEqual([404, 'not_found_error'])
  const orphan = { ...counted, messages: user({ type: 'tool_result', tool_use_id: 'x' }) }
  expect(await errorOf(await count(orphan))).toEqual([400, 'invalid_request_error'])
  expect(await test.recordedUsage()).toEqual([])
})

test('GET /v1/models: 200 in Anthropic’s format by pages when anthropic-version is sent', async () => {
  await using test = await messagesPlatform()
  const headers = { 'x-api-key': test.key, 'anthropic-version': '2023-06-01' }
  const get = (path: string) => test.backend.request(`/v1/models${path}`, { headers })
  const first = await read(AnthropicModelList, get('?limit=2'))
  expect(first.data).toHaveLength(2)
  expect(first).toMatchObject({ has_more: true, first_id: first.data.at(0)?.id ?? '' })
  const next = await read(AnthropicModelList, get(`?limit=2&after_id=${encodeURIComponent(first.last_id ?? '')}`))
  expect(next.data.map(({ id }) => id)).not.toContain(first.last_id)
  const before = await read(AnthropicModelList, get(`?limit=2&before_id=${encodeURIComponent(next.first_id ?? '')}`))
  expect(before).toEqual({ ...first, has_more: false })
  const model = await read(AnthropicModel, get(`/${CLAUDE}`))
  expect(model).toMatchObject({ type: 'model', id: 'anthropic/claude-sonnet-4.5' })
  expect(await errorOf(await get('/claude-none'))).toEqual([404, 'not_found_error'])
  expect(await errorOf(await get('?limit=0'))).toEqual([400, 'invalid_request_error'])
})

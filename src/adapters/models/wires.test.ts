import { expect, test } from 'bun:test'
import { createHttpProvider } from './http-provider.ts'
import type { CompletionChunk, Dialect } from './provider.ts'

const request = (dialect: Dialect) => ({ dialect, body: { model: 'm' }, json: '{"model":"m"}' })

/** Starts a provider that answers every request with `body`; `requests` are those it got. */
function startProviderWith(body: string, type = 'application/json', id = 'anthropic', dialects?: readonly Dialect[]) {
  const requests: { path: string; headers: Headers }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url, headers }) => {
      requests.push({ path: new URL(url).pathname, headers })
      return new Response(body, { headers: { 'content-type': type } })
    },
  })
  const options = { id, baseUrl: `http://127.0.0.1:${server.port}/v1`, apiKey: 'k', dialects, timeoutMs: 10_000 }
  return {
    requests,
    provider: createHttpProvider(options, { fetch }),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

const toStream = (events: object[]) =>
  events.map((event) => `event: ${'type' in event ? event.type : ''}\ndata: ${JSON.stringify(event)}\n\n`).join('')

async function readAll(chunks: AsyncIterable<CompletionChunk>): Promise<CompletionChunk[]> {
  const all: CompletionChunk[] = []
  for await (const chunk of chunks) all.push(chunk)
  return all
}

const USAGE = {
  input_tokens: 10,
  cache_read_input_tokens: 20,
  cache_creation_input_tokens: 40,
  cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 10 },
  output_tokens: 1,
}
const COUNTED = {
  inputTokens: 70,
  cachedInputTokens: 20,
  cacheCreationTokens: 30,
  cacheCreationHourTokens: 10,
  outputTokens: 5,
  costUsd: null,
}

test('complete counts cached and written tokens as input when a Messages answer reports them', async () => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [{ type: 'text', text: 'Hello.' }],
    stop_reason: 'end_turn',
    usage: { ...USAGE, output_tokens: 5 },
  }
  await using test = startProviderWith(JSON.stringify(message))
  const headers = { 'anthropic-beta': 'context-1m-2025-08-07' }
  const answer = await test.provider.complete({ ...request('messages'), headers }, AbortSignal.timeout(10_000))
  expect(answer).toMatchObject({ id: 'msg_1', model: 'claude', content: 'Hello.', usage: COUNTED })
  expect(JSON.parse(answer.json)).toEqual(message)
  const [sent] = test.requests
  expect([sent?.path, sent?.headers.get('x-api-key'), sent?.headers.get('authorization')]).toEqual([
    '/v1/messages',
    'k',
    null,
  ])
  expect(sent?.headers.get('anthropic-version')).toBe('2023-06-01')
  expect(sent?.headers.get('anthropic-beta')).toBe(headers['anthropic-beta'])
})

test.each([
  ['anthropic', undefined, { messages: ['k', null], models: ['k', null] }],
  ['lab', ['messages'], { messages: ['k', null], models: ['k', null] }],
  ['lab', ['chat', 'messages'], { messages: ['k', null], models: [null, 'Bearer k'] }],
  ['openrouter', undefined, { messages: [null, 'Bearer k'], models: [null, 'Bearer k'] }],
] as const)('%s of a provider with the dialects %j sends its key in one header', async (id, dialects, expected) => {
  await using test = startProviderWith('{"data":[]}', 'application/json', id, dialects)
  await test.provider.complete(request('messages'), AbortSignal.timeout(10_000)).catch(() => null)
  await test.provider.listModels(AbortSignal.timeout(10_000))
  const keys = test.requests.map(({ headers }) => [headers.get('x-api-key'), headers.get('authorization')])
  expect(keys).toEqual([[...expected.messages], [...expected.models]])
})

const MESSAGE_EVENTS = [
  { type: 'message_start', message: { id: 'msg_1', model: 'claude', content: [], usage: USAGE } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]

test('stream forwards Messages events and merges their usage', async () => {
  await using test = startProviderWith(toStream(MESSAGE_EVENTS), 'text/event-stream')
  const chunks = await readAll(await test.provider.stream(request('messages'), AbortSignal.timeout(10_000)))
  expect(chunks.map(({ event }) => event)).toEqual(MESSAGE_EVENTS.map(({ type }) => type))
  expect(chunks.map(({ json }) => JSON.parse(json))).toEqual(MESSAGE_EVENTS)
  expect(chunks.map(({ said }) => said).join('')).toBe('Hello.')
  expect(chunks.findLast(({ usage }) => usage)?.usage).toEqual(COUNTED)
  expect(chunks.findIndex(({ isAnswer }) => isAnswer)).toBe(3)
})

test.each([
  ['no message_stop', MESSAGE_EVENTS.slice(0, -1), { failure: 'broken', isSpent: true }],
  [
    'an error event after output',
    [...MESSAGE_EVENTS.slice(0, 4), { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
    { failure: 'broken', usage: { inputTokens: 70 } },
  ],
  [
    'an error event before output',
    [MESSAGE_EVENTS[0] ?? {}, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
    { failure: 'broken', isSpent: false, usage: null },
  ],
])('stream throws when a Messages stream contains %s', async (_what, events, error) => {
  await using test = startProviderWith(toStream(events), 'text/event-stream')
  const chunks = await test.provider.stream(request('messages'), AbortSignal.timeout(10_000))
  await expect(readAll(chunks)).rejects.toMatchObject(error)
})

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  model: 'gpt-5',
  status: 'completed',
  output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] }],
  usage: {
    input_tokens: 70,
    input_tokens_details: { cached_tokens: 20, cache_write_tokens: 10 },
    output_tokens: 5,
    total_tokens: 75,
  },
}

test('complete and stream read text and usage when the provider speaks Responses', async () => {
  const counted = { ...COUNTED, cacheCreationTokens: 10, cacheCreationHourTokens: 0 }
  await using whole = startProviderWith(JSON.stringify(RESPONSE), 'application/json', 'openai')
  const answer = await whole.provider.complete(request('responses'), AbortSignal.timeout(10_000))
  expect(answer).toMatchObject({ id: 'resp_1', model: 'gpt-5', content: 'Hello.', usage: counted })
  expect(whole.requests[0]?.path).toBe('/v1/responses')

  const events = [
    { type: 'response.created', response: { id: 'resp_1' } },
    { type: 'response.output_text.delta', delta: 'Hello.' },
    { type: 'response.completed', response: RESPONSE },
  ]
  await using streamed = startProviderWith(toStream(events), 'text/event-stream', 'openai')
  const chunks = await readAll(await streamed.provider.stream(request('responses'), AbortSignal.timeout(10_000)))
  expect(chunks.map(({ event }) => event)).toEqual(events.map(({ type }) => type))
  expect(chunks.map(({ said }) => said)).toEqual(['', 'Hello.', ''])
  expect(chunks.at(-1)?.usage).toEqual(counted)
})

test('stream throws an error with the usage when a response fails', async () => {
  const events = [
    { type: 'response.created', response: { id: 'resp_1' } },
    { type: 'response.failed', response: { ...RESPONSE, status: 'failed' } },
  ]
  await using test = startProviderWith(toStream(events), 'text/event-stream', 'openai')
  const chunks = await test.provider.stream(request('responses'), AbortSignal.timeout(10_000))
  await expect(readAll(chunks)).rejects.toMatchObject({ failure: 'broken', usage: { inputTokens: 70 } })
})

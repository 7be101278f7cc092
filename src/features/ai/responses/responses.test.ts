import { describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { INTERNAL_KEY } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import type { VendorDialect } from '../../../../tests/harness/vendors/script.ts'
import { startVendor, VENDOR_KEY } from '../../../../tests/harness/vendors/vendor.ts'
import { readEvents } from '../../../../tests/harness/wires/events.ts'
import { createHttpProvider } from '../../../adapters/models/http-provider.ts'
import { createKey } from '../../accounts/keys/keys.ts'
import { storedResponses } from './tables.ts'

type Dialects = readonly VendorDialect['dialect'][]
const NATIVE: Dialects = ['chat', 'responses']
const TRANSLATED: Dialects = ['chat']

const PATH = '/v1/responses'
const MODEL = 'openai/gpt-4o-mini'
const HELLO = { model: MODEL, input: 'Say hello', store: false }
const STORED = { model: MODEL, input: 'Say hello' }
const LOOK_UP = { type: 'function', name: 'look_up', parameters: { type: 'object', properties: {} }, strict: false }

const Answer = z.looseObject({
  id: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
  previous_response_id: z.string().nullable(),
  store: z.boolean(),
})
const Event = z.looseObject({ type: z.string(), sequence_number: z.number(), response: Answer.optional() })

/** A platform whose provider is a vendor that speaks `dialects`, and Ada with a key. */
async function openPlatform(dialects: Dialects) {
  const vendor = await startVendor({ models: ['gpt-4o-mini'], dialects: [...dialects] })
  const { baseUrl } = vendor
  const options = { id: 'openai', baseUrl, apiKey: VENDOR_KEY, timeoutMs: 60_000, dialects: [...dialects] }
  const test = await aiPlatform({ providers: [createHttpProvider(options, { fetch })] })
  const ada = await test.join('solo')
  const { backend } = test
  const post = (body: unknown, key = ada.key) => backend.request(PATH, json('POST', body, bearer(key)))
  return {
    ...test,
    ada,
    vendor,
    post,
    ask: (body: unknown, key = ada.key) => read(Answer, post(body, key)),
    stream: async (body: object, onEvent: () => void = () => undefined) => {
      const events: z.infer<typeof Event>[] = []
      for await (const { event, data } of readEvents(await post({ ...body, stream: true }))) {
        const parsed = Event.parse(JSON.parse(data))
        expect(event).toBe(parsed.type)
        events.push(parsed)
        onEvent()
      }
      return events
    },
    stored: (method: 'GET' | 'DELETE', id: string, key = ada.key) =>
      backend.request(`${PATH}/${id}`, { method, headers: bearer(key) }),
    async [Symbol.asyncDispose]() {
      await vendor[Symbol.asyncDispose]()
      await test[Symbol.asyncDispose]()
    },
  }
}

const textOf = (response: z.infer<typeof Answer> | undefined) => response?.output.find(({ type }) => type === 'message')

describe('POST /v1/responses with a provider of Chat Completions', () => {
  test('200 with a response, and the call is recorded', async () => {
    await using test = await openPlatform(TRANSLATED)
    const response = await test.post({ ...HELLO, instructions: 'Be brief' })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('x-stead-model')).toBe(MODEL)
    expect(await response.json()).toMatchObject({
      object: 'response',
      status: 'completed',
      model: MODEL,
      store: false,
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] }],
      usage: { input_tokens: 1000, output_tokens: 500, total_tokens: 1500 },
    })
    expect(test.vendor.calls[0]?.body).toEqual({
      model: 'gpt-4o-mini',
      messages: [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Say hello' },
      ],
    })
    const { user } = test.ada
    expect(await test.recordedUsage()).toMatchObject([
      { userId: user.id, agentId: 'direct', endpoint: PATH, model: MODEL, inputTokens: 1000, outputTokens: 500 },
    ])
  })

  test('200 with events that end with the response', async () => {
    await using test = await openPlatform(TRANSLATED)
    test.vendor.answerWith({
      thinking: 'A word.',
      toolCalls: [{ name: 'look_up', arguments: { word: 'tea' } }],
      usage: { input: 100, output: 20, cached: 60, reasoning: 5 },
    })
    const events = await test.stream({ ...HELLO, tools: [LOOK_UP] })
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index))
    expect(events[0]?.type).toBe('response.created')
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: {
        model: MODEL,
        output: [
          { type: 'reasoning', summary: [{ text: 'A word.' }] },
          { type: 'function_call', name: 'look_up', arguments: '{"word":"tea"}' },
        ],
        usage: {
          input_tokens: 100,
          input_tokens_details: { cached_tokens: 60 },
          output_tokens: 20,
          output_tokens_details: { reasoning_tokens: 5 },
        },
      },
    })
    expect(await test.recordedUsage()).toMatchObject([{ inputTokens: 100, outputTokens: 20 }])
  })

  test('200 without built-in tools, which x-stead-dropped names', async () => {
    await using test = await openPlatform(TRANSLATED)
    const response = await test.post({ ...HELLO, tools: [LOOK_UP, { type: 'web_search' }] })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-stead-dropped')).toBe('web_search')
    expect(test.vendor.calls[0]?.tools).toEqual(['look_up'])
  })

  test('200 and the result of a tool is sent to the model', async () => {
    await using test = await openPlatform(TRANSLATED)
    test.vendor.answerWith(({ toolResults }) =>
      toolResults.length > 0
        ? { text: `So: ${toolResults.join()}` }
        : { text: 'I look.', toolCalls: [{ name: 'look_up', arguments: {} }] },
    )
    const first = await test.ask({ ...STORED, tools: [LOOK_UP] })
    const call = first.output.find(({ type }) => type === 'function_call')
    const result = { type: 'function_call_output', call_id: call?.call_id, output: 'a drink' }
    const next = await test.ask({ ...STORED, input: [result], tools: [LOOK_UP], previous_response_id: first.id })
    expect(textOf(next)).toMatchObject({ content: [{ text: 'So: a drink' }] })
  })

  test('200 with an error event when the provider ends a stream, and what came is recorded', async () => {
    await using test = await openPlatform(TRANSLATED)
    test.vendor.answerWith({ text: ['Hello ', 'you'], fault: { errorAfterEvents: 2 } })
    const events = await test.stream(STORED)
    expect(events.slice(-2)).toMatchObject([
      { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error' } } },
      { type: 'error', code: 'server_error', message: expect.stringContaining('openai') },
    ])
    expect(await test.recordedUsage()).toMatchObject([{ success: false, estimated: true }])
    expect(test.platform.db.select().from(storedResponses).all()).toEqual([])
  })
})

describe('POST /v1/responses with a provider of Responses', () => {
  test('200 with the provider’s answer to the unchanged body', async () => {
    await using test = await openPlatform(NATIVE)
    const body = {
      ...HELLO,
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Say hello' }] }],
      tools: [LOOK_UP, { type: 'web_search' }],
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'mine',
      client_metadata: { a: 'b' },
      fallbacks: [],
    }
    const response = await test.post(body)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-stead-dropped')).toBeNull()
    expect(await response.json()).toMatchObject({ id: 'resp_1', model: 'gpt-4o-mini' })
    const { fallbacks: _, ...sent } = body
    expect(test.vendor.calls).toMatchObject([{ path: PATH, body: { ...sent, model: 'gpt-4o-mini' } }])
    expect(await test.recordedUsage()).toMatchObject([{ inputTokens: 1000, outputTokens: 500 }])
  })

  test('200 with the provider’s events', async () => {
    await using test = await openPlatform(NATIVE)
    test.vendor.answerWith({ thinking: 'Well.', text: ['Hel', 'lo'] })
    const events = await test.stream(HELLO)
    expect(events.map(({ type }) => type)).toContain('response.reasoning_summary_text.delta')
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { id: 'resp_1' } })
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index))
  })

  test('200 and encrypted reasoning is sent back to the provider that encrypted it', async () => {
    await using test = await openPlatform(NATIVE)
    test.vendor.answerWith({ thinking: 'Well.', text: 'Hello' })
    const first = await test.ask(STORED)
    expect((await test.post({ ...STORED, previous_response_id: first.id })).status).toBe(200)
    expect(test.vendor.refused).toEqual([])
    expect(test.vendor.calls[1]?.body.input).toMatchObject([
      { role: 'user' },
      { type: 'reasoning', encrypted_content: expect.any(String) },
      { role: 'assistant' },
      { role: 'user' },
    ])
  })

  test('200 and reasoning of other models is not sent to the provider', async () => {
    await using chat = await openPlatform(TRANSLATED)
    chat.vendor.answerWith({ thinking: 'Well.', text: 'Hello' })
    const { output } = await chat.ask(HELLO)
    expect(output).toMatchObject([{ type: 'reasoning' }, { type: 'message' }])
    await using native = await openPlatform(NATIVE)
    const input = [{ role: 'user', content: 'Hi' }, ...output, { role: 'user', content: 'And?' }]
    expect((await native.post({ ...HELLO, input })).status).toBe(200)
    expect(native.vendor.calls[0]?.body.input).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'user' },
    ])
  })

  test('200 with an error event when the provider ends a stream, and what came is recorded', async () => {
    await using test = await openPlatform(NATIVE)
    for (const [index, fault] of [{ cutAfterEvents: 5 }, { errorAfterEvents: 5 }].entries()) {
      // A connection that is cut at once loses the events before it.
      const heard = Promise.withResolvers<void>()
      const beforeEvent = (number: number) => (number === 5 ? heard.promise : Promise.resolve())
      test.vendor.answerWith({ text: ['Hello ', 'you'], fault, beforeEvent })
      const events = await test.stream(STORED, () => heard.resolve())
      expect(events.slice(-2)).toMatchObject([
        { type: 'response.failed', response: { status: 'failed' } },
        { type: 'error', code: 'server_error' },
      ])
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, number) => number))
      expect(await test.recordedUsage()).toHaveLength(index + 1)
    }
  })
})

describe.each<[string, Dialects]>([
  ['Chat Completions', TRANSLATED],
  ['Responses', NATIVE],
])('stored responses with a provider of %s', (_, dialects) => {
  test('POST /v1/responses: 200 continues the conversation of previous_response_id, which the provider does not store', async () => {
    await using test = await openPlatform(dialects)
    const first = await test.ask({ ...STORED, instructions: 'Be brief' })
    expect(first).toMatchObject({ store: true, previous_response_id: null })
    expect(first.id).toMatch(/^resp_[0-9A-Za-z]{22}$/)
    const events = await test.stream({ ...STORED, input: 'Again', previous_response_id: first.id })
    const second = events.at(-1)?.response
    expect(second).toMatchObject({ store: true, previous_response_id: first.id, instructions: null })
    expect(new Set<unknown>(events.flatMap(({ response }) => response?.id ?? []))).toEqual(new Set([second?.id]))
    const third = await test.ask({ ...HELLO, input: 'And?', previous_response_id: second?.id })
    expect(third).toMatchObject({ store: false, previous_response_id: second?.id })
    const sent = z.array(z.looseObject({ role: z.string() }))
    const { messages, input, ...rest }: Record<string, unknown> = { ...test.vendor.calls[2]?.body }
    expect(sent.parse(messages ?? input).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ])
    expect(rest).not.toHaveProperty('previous_response_id')
    expect(rest.store ?? false).toBe(false)
    expect(test.vendor.refused).toEqual([])
    expect((await test.stored('GET', third.id)).status).toBe(404)
  })

  test('POST /v1/responses: 200 with references to items of stored responses', async () => {
    await using test = await openPlatform(dialects)
    const { output } = await test.ask(STORED)
    const references = output.map(({ id }) => ({ type: 'item_reference', id }))
    const input = [{ role: 'user', content: 'Say hello' }, ...references, { role: 'user', content: 'Again' }]
    expect((await test.post({ ...HELLO, input })).status).toBe(200)
    const sent = JSON.stringify(test.vendor.calls[1]?.body)
    expect(sent).toContain('Hello.')
    expect(sent).not.toContain('item_reference')
    const eve = await test.join('solo', 'eve@example.com')
    expect((await test.post({ ...HELLO, input }, eve.key)).status).toBe(400)
  })

  test('GET /v1/responses/:id: 200 with the response, and 404 after DELETE', async () => {
    await using test = await openPlatform(dialects)
    const response = await test.ask(STORED)
    expect(await read(Answer, test.stored('GET', response.id))).toEqual(response)
    expect((await test.stored('GET', `${response.id}?stream=true`)).status).toBe(400)
    expect(await (await test.stored('DELETE', response.id)).json()).toEqual({
      id: response.id,
      object: 'response',
      deleted: true,
    })
    for (const method of ['GET', 'DELETE'] as const) {
      const missing = await test.stored(method, response.id)
      expect(missing.status).toBe(404)
      expect(await missing.json()).toEqual({
        error: {
          message: `Response with id '${response.id}' not found.`,
          type: 'invalid_request_error',
          code: null,
          param: 'id',
        },
      })
    }
  })

  test('GET, DELETE and previous_response_id: 404 and 400 for another account, and nothing is recorded', async () => {
    await using test = await openPlatform(dialects)
    const { id } = await test.ask(STORED)
    const eve = await test.join('solo', 'eve@example.com')
    expect((await test.stored('GET', id, eve.key)).status).toBe(404)
    expect((await test.stored('DELETE', id, eve.key)).status).toBe(404)
    const refused = await test.post({ ...STORED, previous_response_id: id }, eve.key)
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    })
    expect(await test.recordedUsage()).toHaveLength(1)
    expect((await test.stored('GET', id)).status).toBe(200)
    expect((await test.stored('GET', id, test.ada.agentToken)).status).toBe(200)
  })

  test('GET /v1/responses/:id: 401 without a key', async () => {
    await using test = await openPlatform(dialects)
    expect((await test.backend.request(`${PATH}/resp_1`)).status).toBe(401)
    expect((await test.backend.request(`${PATH}/resp_1`, { method: 'DELETE' })).status).toBe(401)
  })
})

describe('POST /v1/responses without a call or record', () => {
  test.each<[string, number, object, object]>([
    ['an unknown model', 404, { model: 'tea' }, {}],
    ['a result without its call', 400, { input: [{ type: 'function_call_output', call_id: 'a', output: '' }] }, {}],
    ['an unknown part', 400, { input: [{ role: 'user', content: [{ type: 'tea' }] }] }, { code: 'invalid_value' }],
    ['an unknown item', 400, { input: [{ type: 'tea' }] }, { param: 'input[0].type' }],
    ['an unknown previous response', 400, { previous_response_id: 'resp_x' }, { code: 'previous_response_not_found' }],
    ['background mode', 400, { background: true }, { param: 'background' }],
    ['a conversation of the provider', 400, { conversation: 'conv_1' }, { param: 'conversation' }],
    ['an unknown field', 400, { tea: 1 }, { code: 'unknown_parameter', param: 'tea' }],
    ['an input that is no text', 400, { input: 5 }, {}],
    ['a wrong stream', 400, { stream: 'yes' }, {}],
  ])('when the body has %s: %i', async (_, status, fields, error) => {
    await using test = await openPlatform(TRANSLATED)
    const response = await test.post({ ...STORED, ...fields })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', ...error } })
    expect(test.vendor.calls).toEqual([])
    expect(await test.recordedUsage()).toEqual([])
  })

  test('413 when the body exceeds 8 MB', async () => {
    await using test = await openPlatform(TRANSLATED)
    const response = await test.post({ ...STORED, input: 'x'.repeat(8 * 1024 * 1024) })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
    expect(test.vendor.calls).toEqual([])
  })

  test('402 without a plan, 429 for agents, 401 without a key', async () => {
    await using test = await openPlatform(TRANSLATED)
    const eve = await test.join(null, 'eve@example.com')
    expect((await test.post(STORED, eve.key)).status).toBe(402)
    expect((await test.post(STORED, eve.agentToken)).status).toBe(429)
    expect((await test.post(STORED, 'sk_wrong')).status).toBe(401)
  })

  test('400 with state of the provider or a repeated field, with a provider of Responses', async () => {
    await using test = await openPlatform(NATIVE)
    expect((await test.post({ ...HELLO, conversation: 'conv_1' })).status).toBe(400)
    const text = '{"model":"openai/gpt-4o-mini","input":"Hi","store":true,"store":false}'
    const headers = { ...bearer(test.ada.key), 'content-type': 'application/json' }
    expect((await test.backend.request(PATH, { method: 'POST', body: text, headers })).status).toBe(400)
    expect(test.vendor.calls).toEqual([])
  })
})

test('POST /v1/responses: 200 without storing when the caller has no account', async () => {
  await using test = await openPlatform(NATIVE)
  const identity = { 'x-user-id': 'usr_1', 'x-user-plan': 'label', 'x-billing-subscription-id': 'sub_1' }
  const headers = { ...bearer(INTERNAL_KEY), ...identity }
  const response = await read(Answer, test.backend.request(PATH, json('POST', STORED, headers)))
  expect(response.store).toBe(false)
  expect(test.platform.db.select().from(storedResponses).all()).toEqual([])
})

test.each<[string, Dialects]>([
  ['Chat Completions', TRANSLATED],
  ['Responses', NATIVE],
])(
  'POST /v1/responses: the token limit of a key is never exceeded by 100 concurrent calls, with a provider of %s',
  async (_, dialects) => {
    await using test = await openPlatform(dialects)
    test.vendor.answerWith({ usage: { input: 20, output: 500 } })
    const { platform, clock, ada } = test
    const { key } = await createKey({ db: platform.db, clock }, ada.user.id, { name: 'small', monthlyTokens: 20_000 })
    const body = { ...HELLO, max_output_tokens: 500 }
    const responses = await Promise.all(Array.from({ length: 100 }, () => test.post(body, key)))
    const answered = responses.filter(({ status }) => status === 200).length
    expect(answered).toBeGreaterThan(0)
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(100 - answered)
    const rows = await test.recordedUsage()
    const succeeded = rows.filter(({ success }) => success)
    expect(
      succeeded.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0),
    ).toBeLessThanOrEqual(20_000)
  },
)

test.each<[string, Dialects]>([
  ['Chat Completions', TRANSLATED],
  ['Responses', NATIVE],
])(
  'POST /v1/responses: a stream is recorded once when the caller disconnects, with a provider of %s',
  async (_, dialects) => {
    await using test = await openPlatform(dialects)
    test.vendor.answerWith({
      text: ['x'.repeat(40), 'never sent'],
      fault: { hangAfterEvents: dialects === NATIVE ? 5 : 2 },
    })
    const client = new AbortController()
    const request = json('POST', { ...STORED, stream: true }, bearer(test.ada.key))
    const response = await test.backend.request(PATH, { ...request, signal: client.signal })
    for await (const _event of readEvents(response)) break
    client.abort()
    expect(await test.vendor.calls[0]?.ended).toBe('aborted')
    expect(await test.recordedUsage()).toMatchObject([{ success: false, estimated: true }])
    expect(test.platform.db.select().from(storedResponses).all()).toEqual([])
  },
)

test('POST /v1/responses/input_tokens: 200 with the tokens of the whole conversation', async () => {
  await using test = await openPlatform(TRANSLATED)
  const count = async (body: object) => {
    const response = await test.backend.request(`${PATH}/input_tokens`, json('POST', body, bearer(test.ada.key)))
    expect(response.status).toBe(200)
    return z
      .object({ object: z.literal('response.input_tokens'), input_tokens: z.number() })
      .parse(await response.json())
  }
  const short = await count(STORED)
  expect(short.input_tokens).toBeGreaterThan(0)
  const { id } = await test.ask(STORED)
  expect((await count({ ...STORED, previous_response_id: id })).input_tokens).toBeGreaterThan(short.input_tokens)
  expect(test.vendor.calls).toHaveLength(1)
})

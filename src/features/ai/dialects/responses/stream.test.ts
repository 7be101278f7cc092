import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { AppError } from '../../../../core/errors.ts'
import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import type { AnswerContext, DialectEvent } from '../dialect.ts'
import { toChatRequest } from './request.ts'
import { responsesTranslator } from './responses.ts'

const PATCH = { type: 'custom', name: 'patch' }
const LOOK_UP = { type: 'function', name: 'look_up', parameters: { type: 'object' } }
const REQUEST = { model: 'mine', input: 'Say hello', tools: [LOOK_UP, PATCH] }

function contextOf(request: JsonObject = REQUEST): AnswerContext {
  let number = 0
  return {
    model: 'groq/llama',
    request,
    newId: (prefix) => `${prefix}_${++number}`,
    nowSeconds: () => 1_700_000_000,
  }
}

function completionOf(message: JsonObject, fields: JsonObject = {}, finishReason = 'stop'): JsonObject {
  return { choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finishReason }], ...fields }
}

function callOf(id: string, name: string, args: string): JsonObject {
  return { id, type: 'function', function: { name, arguments: args } }
}

function deltaOf(delta: JsonObject, finishReason: string | null = null): JsonObject {
  return { choices: [{ index: 0, delta, finish_reason: finishReason }] }
}

function stream(chunks: readonly JsonObject[], context = contextOf()): DialectEvent[] {
  const translator = responsesTranslator.createStreamTranslator(context)
  return [...chunks.flatMap((chunk) => translator.push(chunk)), ...translator.end()]
}

function responseOf(events: readonly DialectEvent[]): JsonObject {
  const response = events.at(-1)?.data.response
  return isJsonObject(response) ? response : {}
}

test('fromChatCompletion names the namespace of a tool when the conversation added the tool', () => {
  const namespace = { type: 'namespace', name: 'functions', tools: [PATCH, LOOK_UP] }
  const sent = { ...REQUEST, tools: [], input: [{ type: 'additional_tools', role: 'developer', tools: [namespace] }] }
  const calls = [callOf('call_1', 'functions__patch', '{"input":"x"}'), callOf('call_2', 'functions__look_up', '{}')]
  const response = responsesTranslator.fromChatCompletion(completionOf({ content: null, tool_calls: calls }), {
    ...contextOf(),
    sent,
  })
  expect(response.output).toMatchObject([
    { type: 'custom_tool_call', name: 'patch', namespace: 'functions', input: 'x' },
    { type: 'function_call', name: 'look_up', namespace: 'functions', arguments: '{}' },
  ])
})

const typesOf = (events: readonly DialectEvent[]) => events.map(({ event }) => event)

test('fromChatCompletion returns a response with the defaults of the request', () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 2 },
  }
  expect(responsesTranslator.fromChatCompletion(completionOf({ content: 'Hello' }, { usage }), contextOf())).toEqual({
    id: 'resp_1',
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    background: false,
    completed_at: 1_700_000_000,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: 'groq/llama',
    output: [
      {
        id: 'msg_2',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
      },
    ],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: true,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [LOOK_UP, PATCH],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 15,
    },
    user: null,
    metadata: {},
  })
})

describe('fromChatCompletion returns', () => {
  test.each<[string, string]>([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('an incomplete response for the finish reason %s', (finishReason, reason) => {
    const completion = completionOf({ content: 'He' }, {}, finishReason)
    expect(responsesTranslator.fromChatCompletion(completion, contextOf())).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason },
      output: [{ type: 'message', status: 'incomplete' }],
    })
  })

  test('reasoning, refusal, citations, functions and custom tools as items', () => {
    const completion = completionOf({
      reasoning_content: 'hm',
      content: 'See',
      refusal: 'No',
      tool_calls: [callOf('call_a', 'look_up', ''), callOf('call_b', 'patch', '{"input":"x"}')],
    })
    const { output } = responsesTranslator.fromChatCompletion(completion, contextOf())
    expect(output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
      {
        type: 'message',
        content: [
          { type: 'output_text', text: 'See' },
          { type: 'refusal', refusal: 'No' },
        ],
      },
      { type: 'function_call', call_id: 'call_a', name: 'look_up', arguments: '{}', status: 'completed' },
      { type: 'custom_tool_call', call_id: 'call_b', name: 'patch', input: 'x' },
    ])
    const citation = { start_index: 0, end_index: 3, url: 'https://example.com/', title: 'Tea' }
    const cited = completionOf({ content: 'Tea', annotations: [{ type: 'url_citation', url_citation: citation }] })
    expect(responsesTranslator.fromChatCompletion(cited, contextOf()).output).toMatchObject([
      { content: [{ annotations: [{ type: 'url_citation', ...citation }] }] },
    ])
  })
})

describe('createStreamTranslator emits', () => {
  test('the events of a text', () => {
    const events = stream([
      deltaOf({ role: 'assistant', content: '' }),
      deltaOf({ content: 'Hel' }),
      deltaOf({ content: 'lo' }, 'stop'),
    ])
    expect(typesOf(events)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(events[2]?.data).toEqual({
      type: 'response.output_item.added',
      sequence_number: 2,
      output_index: 0,
      item: { id: 'msg_2', type: 'message', status: 'in_progress', role: 'assistant', content: [] },
    })
    expect(events[4]?.data).toEqual({
      type: 'response.output_text.delta',
      sequence_number: 4,
      item_id: 'msg_2',
      output_index: 0,
      content_index: 0,
      delta: 'Hel',
      logprobs: [],
    })
    expect(responseOf(events)).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Hello' }] }] })
  })

  test('the events of reasoning and a function call', () => {
    const events = stream([
      deltaOf({ reasoning: 'hm' }),
      deltaOf({ tool_calls: [{ index: 0, ...callOf('call_a', 'look_up', '') }] }),
      deltaOf({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
      deltaOf({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }, 'tool_calls'),
    ])
    expect(typesOf(events).slice(2)).toEqual([
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ])
    const done = events.find(({ event }) => event === 'response.function_call_arguments.done')
    expect(done?.data).toMatchObject({ output_index: 1, name: 'look_up', arguments: '{"a":1}' })
  })

  test('the events of a custom tool', () => {
    const events = stream([deltaOf({ tool_calls: [{ index: 0, ...callOf('call_a', 'patch', '{"input":"x\\ny"}') }] })])
    expect(typesOf(events).slice(2)).toEqual([
      'response.output_item.added',
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(events[3]?.data).toMatchObject({ delta: 'x\ny' })
  })

  test('interleaved calls, and calls that a provider all numbers 0 or not at all, as separate items', () => {
    const call = (index: number | undefined, id: string) => ({
      ...(index !== undefined && { index }),
      ...callOf(id, 'look_up', `{"id":"${id}"}`),
    })
    for (const chunks of [
      [deltaOf({ tool_calls: [call(0, 'a'), call(1, 'b')] })],
      [deltaOf({ tool_calls: [call(0, 'a')] }), deltaOf({ tool_calls: [call(0, 'b')] })],
      [deltaOf({ tool_calls: [call(undefined, 'a')] }), deltaOf({ tool_calls: [call(undefined, 'b')] })],
    ]) {
      expect(responseOf(stream(chunks)).output).toMatchObject([
        { call_id: 'a', arguments: '{"id":"a"}' },
        { call_id: 'b', arguments: '{"id":"b"}' },
      ])
    }
  })

  test('a failed response and an error when the provider disconnects', () => {
    const translator = responsesTranslator.createStreamTranslator(contextOf())
    translator.push(deltaOf({ content: 'Hel' }))
    const events = translator.fail(new AppError('upstream_failed', 'The provider cut the answer off'))
    expect(events).toMatchObject([
      {
        event: 'response.failed',
        data: {
          sequence_number: 5,
          response: {
            status: 'failed',
            error: { code: 'server_error', message: 'The provider cut the answer off' },
            output: [{ status: 'incomplete', content: [{ text: 'Hel' }] }],
          },
        },
      },
      {
        event: 'error',
        data: { type: 'error', sequence_number: 6, code: 'server_error', message: 'The provider cut the answer off' },
      },
    ])
  })
})

const text = fc.string({ minLength: 1, maxLength: 12 })
const call = fc.record({ name: fc.constantFrom('look_up', 'other'), args: text, extra: fc.boolean() })
const message = fc
  .record({ reasoning: fc.option(text), content: fc.option(text), calls: fc.array(call, { maxLength: 3 }) })
  .filter(({ reasoning, content, calls }) => reasoning !== null || content !== null || calls.length > 0)
type Message = typeof message extends fc.Arbitrary<infer Value> ? Value : never

function toMessage({ reasoning, content, calls }: Message): JsonObject {
  return {
    content,
    ...(reasoning !== null && { reasoning_content: reasoning }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ name, args, extra }, index) => ({
        ...callOf(`call_${index}`, name, args),
        ...(extra && { extra_content: { google: { thought_signature: `s${index}` } } }),
      })),
    }),
  }
}

/** Cuts a message into chunks as providers do. */
function toChunks({ reasoning, content, calls }: Message, size: number): JsonObject[] {
  const cut = (whole: string) => whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
  return [
    ...cut(reasoning ?? '').map((part) => deltaOf({ reasoning_content: part })),
    ...cut(content ?? '').map((part) => deltaOf({ content: part })),
    ...calls.flatMap(({ name, args, extra }, index) => [
      deltaOf({
        tool_calls: [
          {
            index,
            ...callOf(`call_${index}`, name, ''),
            ...(extra && { extra_content: { google: { thought_signature: `s${index}` } } }),
          },
        ],
      }),
      ...cut(args).map((part) => deltaOf({ tool_calls: [{ index, function: { arguments: part } }] })),
    ]),
    deltaOf({}, 'stop'),
  ]
}

test('createStreamTranslator ends with the same response as the whole completion when it is split anywhere', () => {
  fc.assert(
    fc.property(message, fc.integer({ min: 1, max: 5 }), (said, size) => {
      const whole = responsesTranslator.fromChatCompletion(completionOf(toMessage(said)), contextOf())
      expect(responseOf(stream(toChunks(said, size)))).toEqual(whole)
    }),
  )
})

test('createStreamTranslator numbers its events, opens every item before its deltas, and its deltas add up', () => {
  fc.assert(
    fc.property(message, fc.integer({ min: 1, max: 5 }), (said, size) => {
      const events = stream(toChunks(said, size))
      expect(events.map(({ data }) => data.sequence_number)).toEqual(events.map((_, index) => index))
      const grown = new Map<unknown, string>()
      const done: unknown[] = []
      for (const { event, data } of events) {
        const item = isJsonObject(data.item) ? data.item : {}
        if (event === 'response.output_item.added') grown.set(item.id, '')
        if (event === 'response.output_item.done') done.push(item)
        if (!event.endsWith('.delta')) continue
        expect(grown.has(data.item_id)).toBe(true)
        grown.set(data.item_id, `${grown.get(data.item_id)}${data.delta}`)
      }
      expect(new Set(done)).toEqual(new Set(responseOf(events).output as unknown[]))
      const { reasoning, content, calls } = said
      const expected = [reasoning ?? '', content ?? '', ...calls.map(({ args }) => args)].filter((part) => part !== '')
      expect([...grown.values()].filter((part) => part !== '')).toEqual(expected)
    }),
  )
})

test('the output of an answer is the same chat message when it is sent back', () => {
  fc.assert(
    fc.property(message, (said) => {
      const spoken = toMessage(said)
      const { output } = responsesTranslator.fromChatCompletion(completionOf(spoken), contextOf())
      const results = said.calls.map((_, index) => ({
        type: 'function_call_output',
        call_id: `call_${index}`,
        output: 'done',
      }))
      const next = { type: 'message', role: 'user', content: 'And now?' }
      const input = [...(output as unknown[]), ...results, next]
      const { body } = toChatRequest({ ...REQUEST, input })
      const [first] = body.messages as unknown[]
      if (said.content === null && said.calls.length === 0) expect(first).toEqual({ role: 'user', content: 'And now?' })
      else expect(first).toEqual({ role: 'assistant', ...spoken })
      const elsewhere = toChatRequest({ ...REQUEST, model: 'other', input })
      expect(JSON.stringify(elsewhere.body)).not.toContain('thought_signature')
    }),
  )
})

test('the input of a custom tool is unchanged after the way to the model and back', () => {
  fc.assert(
    fc.property(fc.string(), (input) => {
      const sent = toChatRequest({
        ...REQUEST,
        input: [
          { type: 'custom_tool_call', call_id: 'a', name: 'patch', input },
          { type: 'custom_tool_call_output', call_id: 'a', output: '' },
        ],
      })
      const [spoken] = sent.body.messages as JsonObject[]
      const { output } = responsesTranslator.fromChatCompletion(completionOf(spoken ?? {}), contextOf())
      expect(output).toMatchObject([{ type: 'custom_tool_call', name: 'patch', input }])
    }),
  )
})

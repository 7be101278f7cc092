import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { AppError } from '../../../../core/errors.ts'
import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import { toChatName } from './listed-tools.ts'
import { toChatRequest } from './request.ts'

const ASK = { model: 'gpt-5', input: 'Say hello' }
const LOOK_UP = { type: 'function', name: 'look_up', description: 'Finds a word', parameters: { type: 'object' } }
const CALL = { type: 'function_call', call_id: 'call_1', name: 'look_up', arguments: '{"word":"tea"}' }
const RESULT = { type: 'function_call_output', call_id: 'call_1', output: 'a drink' }

function messagesOf(input: unknown, fields: JsonObject = {}): unknown {
  return toChatRequest({ ...ASK, input, ...fields }).body.messages
}

function refusalOf(request: JsonObject): Record<string, unknown> {
  try {
    toChatRequest(request)
  } catch (error) {
    if (error instanceof AppError) return { kind: error.kind, ...error.extra }
    throw error
  }
  return {}
}

describe('toChatRequest translates', () => {
  test('instructions and text input to messages', () => {
    expect(messagesOf('Say hello', { instructions: 'Be brief' })).toEqual([
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Say hello' },
    ])
  })

  test('sampling, limits, formats and reasoning to the fields of Chat Completions', () => {
    const { body } = toChatRequest({
      ...ASK,
      stream: true,
      temperature: 0.5,
      top_p: 0.9,
      user: 'ada',
      max_output_tokens: 100,
      reasoning: { effort: 'low', summary: 'auto' },
      text: {
        format: { type: 'json_schema', name: 'word', schema: { type: 'object' }, strict: true },
        verbosity: 'low',
      },
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      top_logprobs: 2,
      fallbacks: ['groq/llama'],
    })
    expect(body).toEqual({
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'Say hello' }],
      stream: true,
      temperature: 0.5,
      top_p: 0.9,
      user: 'ada',
      max_tokens: 100,
      reasoning_effort: 'low',
      response_format: { type: 'json_schema', json_schema: { name: 'word', schema: { type: 'object' }, strict: true } },
      verbosity: 'low',
      logprobs: true,
      top_logprobs: 2,
      fallbacks: ['groq/llama'],
    })
  })

  test('hints of price, speed and bookkeeping to nothing', () => {
    const hints = {
      metadata: { task: '1' },
      service_tier: 'flex',
      prompt_cache_key: 'key',
      client_metadata: {},
      context_management: [{ type: 'compaction' }],
      safety_identifier: 'ada',
      store: false,
      stream_options: { include_obfuscation: false },
      background: false,
      truncation: 'disabled',
      previous_response_id: null,
    }
    expect(toChatRequest({ ...ASK, ...hints })).toEqual(toChatRequest(ASK))
  })

  test('a tool call and its result', () => {
    expect(messagesOf([{ role: 'user', content: 'What is tea?' }, CALL, RESULT])).toEqual([
      { role: 'user', content: 'What is tea?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"word":"tea"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'a drink' },
    ])
  })

  test('parallel calls, and a message between a call and its result, to the order that Chat Completions requires', () => {
    const other = { ...CALL, call_id: 'call_2' }
    const messages = messagesOf([
      { role: 'assistant', content: [{ type: 'output_text', text: 'I look', annotations: [] }] },
      CALL,
      other,
      { role: 'user', content: 'Hurry' },
      { ...RESULT, call_id: 'call_2' },
      RESULT,
    ])
    expect(messages).toMatchObject([
      { role: 'assistant', content: 'I look', tool_calls: [{ id: 'call_1' }, { id: 'call_2' }] },
      { role: 'tool', tool_call_id: 'call_2' },
      { role: 'tool', tool_call_id: 'call_1' },
      { role: 'user', content: 'Hurry' },
    ])
  })

  test('images, files and audio of a user, and developer messages to system messages', () => {
    const url = 'data:image/png;base64,aGk='
    const content = [
      { type: 'input_text', text: 'Look' },
      { type: 'input_image', image_url: url, detail: 'low' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' },
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
    ]
    const developer = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief' }] }
    expect(messagesOf([developer, { role: 'user', content }])).toEqual([
      { role: 'system', content: 'Be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url, detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
          { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
        ],
      },
    ])
  })

  test('an image of a tool result to a message after the results', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,aGk=' }
    expect(messagesOf([CALL, { ...RESULT, output: [image] }, { role: 'user', content: 'Well?' }])).toMatchObject([
      { role: 'assistant' },
      { role: 'tool', content: 'The output is in the next message, as output of call_1.' },
      { role: 'user', content: [{ type: 'text', text: 'Output of call_1:' }, { type: 'image_url' }] },
      { role: 'user', content: 'Well?' },
    ])
  })

  test('function tools, and a choice of one', () => {
    const { body } = toChatRequest({
      ...ASK,
      tools: [{ ...LOOK_UP, strict: true }],
      tool_choice: { type: 'function', name: 'look_up' },
      parallel_tool_calls: false,
    })
    const { type: _, ...declared } = LOOK_UP
    expect(body).toMatchObject({
      tools: [{ type: 'function', function: { ...declared, strict: true } }],
      tool_choice: { type: 'function', function: { name: 'look_up' } },
      parallel_tool_calls: false,
    })
  })

  test('a custom tool with a grammar to a function with one text, and its call to arguments', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
    const { body } = toChatRequest({
      ...ASK,
      input: [
        { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: 'x' },
        { type: 'custom_tool_call_output', call_id: 'call_1', output: 'done' },
      ],
      tools: [{ type: 'custom', name: 'patch', description: 'Edits files', format }],
    })
    expect(body.tools).toMatchObject([
      {
        type: 'function',
        function: {
          name: 'patch',
          description: 'Edits files\n\n`input` must match this lark grammar:\nstart: "x"',
          parameters: { required: ['input'] },
        },
      },
    ])
    expect(body.messages).toMatchObject([
      { tool_calls: [{ function: { name: 'patch', arguments: '{"input":"x"}' } }] },
      { role: 'tool', content: 'done' },
    ])
  })

  test('allowed tools to a list of only those', () => {
    const tools = [LOOK_UP, { ...LOOK_UP, name: 'other' }]
    const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'other' }] }
    const { body } = toChatRequest({ ...ASK, tools, tool_choice: choice })
    expect(body).toMatchObject({ tools: [{ function: { name: 'other' } }], tool_choice: 'required' })
  })
})

test('toChatRequest omits built-in tools that clients always send, and names them', () => {
  const { body, dropped } = toChatRequest({
    ...ASK,
    tools: [LOOK_UP, { type: 'namespace', name: 'agents', tools: [] }, { type: 'web_search' }],
    tool_choice: 'auto',
  })
  expect(dropped).toEqual(['namespace', 'web_search'])
  expect(body.tools).toHaveLength(1)
  const alone = toChatRequest({
    ...ASK,
    tools: [{ type: 'web_search' }],
    tool_choice: 'auto',
    parallel_tool_calls: true,
  })
  expect(alone.body).toEqual({ model: 'gpt-5', messages: [{ role: 'user', content: 'Say hello' }] })
})

const EXEC = { type: 'custom', name: 'exec', description: 'Runs a program.' }
const ADDED = {
  type: 'additional_tools',
  role: 'developer',
  tools: [
    { type: 'namespace', name: 'functions', description: 'Tools of this machine.', tools: [EXEC, LOOK_UP] },
    { type: 'web_search' },
  ],
}

test('toChatRequest expands the namespaces that the input adds, and calls their tools by both names', () => {
  const call = { type: 'custom_tool_call', call_id: 'call_1', name: 'exec', namespace: 'functions', input: 'x' }
  const result = { type: 'custom_tool_call_output', call_id: 'call_1', output: 'done' }
  const { body, dropped } = toChatRequest({
    ...ASK,
    input: [ADDED, { role: 'user', content: 'Go' }, call, result],
    tool_choice: { type: 'custom', name: 'exec', namespace: 'functions' },
    reasoning: { context: 'all_turns' },
  })
  expect(dropped).toEqual(['web_search'])
  expect(body).toMatchObject({
    tools: [
      { function: { name: 'functions__exec', description: 'Tools of this machine.\n\nRuns a program.' } },
      { function: { name: `functions__${LOOK_UP.name}` } },
    ],
    tool_choice: { function: { name: 'functions__exec' } },
    messages: [
      { role: 'user', content: 'Go' },
      { tool_calls: [{ function: { name: 'functions__exec' } }] },
      { role: 'tool', content: 'done' },
    ],
  })
})

test('toChatName shortens names to 64 different characters when they are long', () => {
  const long = (name: string) => toChatName(name, 'n'.repeat(60))
  expect([long('first'), long('second')].map(({ length }) => length)).toEqual([64, 64])
  expect(long('first')).not.toBe(long('second'))
  expect(toChatName('x'.repeat(80), null)).toHaveLength(80)
})

describe('toChatRequest throws', () => {
  test.each<[string, JsonObject, JsonObject]>([
    ['a missing input', { input: undefined }, { code: 'missing_required_parameter', param: 'input' }],
    ['an empty input', { input: [] }, { param: 'input' }],
    ['an input that is no text or list', { input: 5 }, { code: 'invalid_type', param: 'input' }],
    ['an item that is no object', { input: ['x'] }, { code: 'invalid_type', param: 'input[0]' }],
    ['an unknown item', { input: [{ type: 'tea' }] }, { code: 'unsupported_value', param: 'input[0].type' }],
    ['a stored item', { input: [{ type: 'item_reference', id: 'msg_1' }] }, { param: 'input[0].type' }],
    ['an unknown role', { input: [{ role: 'tea', content: '' }] }, { param: 'input[0].role' }],
    [
      'an unknown part',
      { input: [{ role: 'user', content: [{ type: 'tea' }] }] },
      { param: 'input[0].content[0].type' },
    ],
    ['an image of the system', { input: [{ role: 'system', content: [{ type: 'input_image' }] }] }, {}],
    [
      'a stored file',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] },
      { code: 'unsupported_parameter', param: 'input[0].content[0].file_id' },
    ],
    ['a result without its call', { input: [RESULT] }, { param: 'input' }],
    ['a call without its result', { input: [CALL] }, { param: 'input' }],
    ['a call that is there twice', { input: [CALL, CALL, RESULT] }, { param: 'input' }],
    ['a second result of a call', { input: [CALL, RESULT, RESULT] }, { param: 'input' }],
    ['a built-in tool', { tools: [{ type: 'file_search' }] }, { code: 'unsupported_value', param: 'tools[0].type' }],
    [
      'a tool that is loaded later',
      { tools: [{ ...LOOK_UP, defer_loading: true }] },
      { param: 'tools[0].defer_loading' },
    ],
    ['a choice of an unlisted tool', { tool_choice: { type: 'function', name: 'x' } }, { param: 'tool_choice' }],
    ['a required tool without tools', { tool_choice: 'required' }, { param: 'tool_choice' }],
    [
      'a choice of a tool that is left out',
      { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
      {},
    ],
    ['background mode', { background: true }, { code: 'unsupported_parameter', param: 'background' }],
    ['a stored conversation', { conversation: 'conv_1' }, { param: 'conversation' }],
    ['a stored prompt', { prompt: { id: 'pmpt_1' } }, { param: 'prompt' }],
    ['automatic truncation', { truncation: 'auto' }, { param: 'truncation' }],
    ['a previous response', { previous_response_id: 'resp_1' }, { param: 'previous_response_id' }],
    ['an unknown field', { tea: 1 }, { code: 'unknown_parameter', param: 'tea' }],
    ['an unknown format', { text: { format: { type: 'tea' } } }, { param: 'text.format.type' }],
    ['an unknown addition', { include: ['tea'] }, { param: 'include' }],
  ])('`invalid` when given %s', (_, fields, expected) => {
    expect(refusalOf({ ...ASK, ...fields })).toMatchObject({ kind: 'invalid', ...expected })
  })
})

test('toChatRequest throws only AppErrors for any JSON', () => {
  const type = fc.constantFrom(
    'message',
    'function_call',
    'function_call_output',
    'reasoning',
    'custom_tool_call',
    'tea',
  )
  const loose = fc.oneof(
    fc.jsonValue(),
    fc.array(fc.record({ type, role: fc.constantFrom('user', 'assistant', 'x'), content: fc.jsonValue() })),
    fc.array(fc.record({ type, call_id: fc.constantFrom('a', 'b'), name: fc.jsonValue(), output: fc.jsonValue() })),
    fc.array(fc.record({ type: fc.constantFrom('function', 'custom', 'web_search'), format: fc.jsonValue() })),
  )
  const field = fc.constantFrom(
    'input',
    'tools',
    'tool_choice',
    'text',
    'reasoning',
    'include',
    'instructions',
    '__proto__',
  )
  fc.assert(
    fc.property(fc.dictionary(field, loose), (request) => {
      try {
        const { body } = toChatRequest(request)
        JSON.stringify(body)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
      }
    }),
    { numRuns: 500 },
  )
})

/** Reads a chat request back, independently of the translation. */
function fromChatMessages(messages: readonly unknown[]): unknown[] {
  return messages.filter(isJsonObject).flatMap(({ role, content, tool_calls: calls, tool_call_id: id }) => {
    if (role === 'tool') return [{ type: 'function_call_output', call_id: id, output: content }]
    const message = content === null ? [] : [{ type: 'message', role, content }]
    const called = Array.isArray(calls) ? calls : []
    return [...message, ...called.map((call) => ({ type: 'function_call', call_id: call.id, ...call.function }))]
  })
}

test('toChatRequest keeps every message, call and result of a conversation', () => {
  const text = fc.string()
  const message = fc.record({
    type: fc.constant('message'),
    role: fc.constantFrom('user', 'system', 'assistant'),
    content: text,
  })
  const calls = fc.array(fc.record({ name: text, arguments: text, output: text }), { minLength: 1, maxLength: 3 })
  const turn = fc.oneof(
    message.map((one) => ({ message: one })),
    calls.map((called) => ({ called })),
  )
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 8 }), (turns) => {
      const items = turns.flatMap((one, index): unknown[] => {
        if ('message' in one) return [one.message]
        const numbered = one.called.map((call, number) => ({ ...call, call_id: `call_${index}_${number}` }))
        return [
          ...numbered.map(({ output: _, ...call }) => ({ type: 'function_call', ...call })),
          ...numbered.map(({ call_id, output }) => ({ type: 'function_call_output', call_id, output })),
        ]
      })
      const messages = messagesOf(items)
      expect(fromChatMessages(Array.isArray(messages) ? messages : [])).toEqual(items)
    }),
  )
})

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { JsonObject } from '../../../../core/json/json-object.ts'
import type { DialectEvent } from '../dialect.ts'
import { messagesTranslator } from './translator.ts'

const context = {
  model: 'lab/model',
  request: {},
  newId: (prefix: string) => `${prefix}_new`,
  nowSeconds: () => 1_800_000_000,
}

const text = fc.string({ minLength: 1, maxLength: 30 })
const input = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
const call = fc.record({
  id: fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/),
  name: fc.stringMatching(/^[a-z_]{1,12}$/),
  input,
})
const calls = fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id })
/** An answer with its tool calls, and their results. */
const exchange = fc.record({ asked: text, said: text, calls, result: text })

type Exchange = {
  asked: string
  said: string
  calls: { id: string; name: string; input: JsonObject }[]
  result: string
}

function toConversation(exchanges: Exchange[]): JsonObject[] {
  return exchanges.flatMap(({ asked, said, calls: used, result }) => [
    { role: 'user', content: [{ type: 'text', text: asked }] },
    {
      role: 'assistant',
      content: [{ type: 'text', text: said }, ...used.map((one) => ({ type: 'tool_use', ...one }))],
    },
    ...(used.length === 0
      ? []
      : [{ role: 'user', content: used.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: result })) }]),
  ])
}

function toChat({ asked, said, calls: used, result }: Exchange): JsonObject[] {
  const toolCalls = used.map(({ id, name, input: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }))
  return [
    { role: 'user', content: asked },
    { role: 'assistant', content: said, ...(used.length > 0 && { tool_calls: toolCalls }) },
    ...used.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: result })),
  ]
}

test('toChatRequest keeps every text, tool call and tool result of a conversation', () => {
  fc.assert(
    fc.property(fc.array(exchange, { maxLength: 4 }), text, (exchanges, last) => {
      const messages = [...toConversation(exchanges), { role: 'user', content: last }]
      const { body, dropped } = messagesTranslator.toChatRequest({ model: 'm', max_tokens: 9, messages })
      const expected = [...exchanges.flatMap(toChat), { role: 'user', content: last }]
      expect(body).toEqual({ model: 'm', max_tokens: 9, messages: expected })
      expect(dropped).toEqual([])
    }),
  )
})

test('an answer is unchanged when it is translated to Messages and back', () => {
  fc.assert(
    fc.property(text, calls, (said, used) => {
      const [, message] = toChat({ asked: '', said, calls: used, result: '' })
      const completion = { choices: [{ message, finish_reason: used.length > 0 ? 'tool_calls' : 'stop' }] }
      const { content } = messagesTranslator.fromChatCompletion(completion, context)
      const results = used.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'x' }))
      const next = { role: 'user', content: [...results, { type: 'text', text: 'Go on' }] }
      const messages = [{ role: 'assistant', content }, next]
      const { body } = messagesTranslator.toChatRequest({ model: 'm', max_tokens: 9, messages })
      expect(Array.isArray(body.messages) ? body.messages[0] : null).toEqual(message)
    }),
  )
})

type Block = { type: string; text?: string; input?: unknown; json?: string; name?: string; id?: string }

/** Reads the content of a message from its events, as clients do. */
function readContent(events: readonly DialectEvent[]): Block[] {
  const blocks: Block[] = []
  for (const { data } of events) {
    const event = JSON.parse(JSON.stringify(data))
    if (event.type === 'content_block_start') blocks[event.index] = { ...event.content_block, json: '' }
    const block = blocks[event.index]
    if (event.type === 'content_block_delta' && block) {
      if (event.delta.type === 'text_delta') block.text = `${block.text}${event.delta.text}`
      if (event.delta.type === 'input_json_delta') block.json = `${block.json}${event.delta.partial_json}`
    }
  }
  return blocks.map(({ json, ...block }) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(json || '{}') } : block,
  )
}

test('a stream has the same content, stop reason and usage as the whole answer', () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } }
  fc.assert(
    fc.property(text, calls, fc.integer({ min: 1, max: 9 }), (said, used, size) => {
      const [, message] = toChat({ asked: '', said, calls: used, result: '' })
      const reason = used.length > 0 ? 'tool_calls' : 'stop'
      const whole = messagesTranslator.fromChatCompletion(
        { choices: [{ message, finish_reason: reason }], usage },
        context,
      )

      const stream = messagesTranslator.createStreamTranslator(context)
      const pieces = (value: string) => value.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
      const deltas: JsonObject[] = [
        { role: 'assistant', content: '' },
        ...pieces(said).map((content) => ({ content })),
        ...used.flatMap(({ id, name, input: given }, index) => [
          { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
          ...pieces(JSON.stringify(given)).map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] })),
        ]),
      ]
      const events = [
        ...deltas.flatMap((delta) => stream.push({ choices: [{ delta, finish_reason: null }] })),
        ...stream.push({ choices: [{ delta: {}, finish_reason: reason }] }),
        ...stream.push({ choices: [], usage }),
        ...stream.end(),
      ]
      expect<unknown>(readContent(events)).toEqual(whole.content)
      expect(events.at(-2)?.data).toEqual({
        type: 'message_delta',
        delta: { stop_reason: whole.stop_reason, stop_sequence: null },
        usage: whole.usage,
      })
      expect(events.every(({ event, data }) => event === data.type)).toBe(true)
    }),
  )
})

test('toOwnRequest removes thinking only when no vendor signed it', () => {
  const thinking = { ...context, request: { thinking: { type: 'enabled', budget_tokens: 1024 } } }
  const message = { content: 'Noon.', reasoning: 'A clock helps.' }
  const { content } = messagesTranslator.fromChatCompletion({ choices: [{ message }] }, thinking)
  expect(content).toMatchObject([{ type: 'thinking', thinking: 'A clock helps.' }, { type: 'text' }])
  const signed = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }
  const request = { messages: [{ role: 'assistant', content: [signed] }] }
  expect(messagesTranslator.toOwnRequest?.(request)).toBe(request)
  expect(messagesTranslator.toOwnRequest?.({ messages: [{ role: 'assistant', content }] })).toEqual({
    messages: [{ role: 'assistant', content: [{ type: 'text', text: 'Noon.' }] }],
  })
})

test('toChatRequest keeps images, documents and failed tools, and throws for media that it cannot express', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }
  const failed = {
    type: 'tool_result',
    tool_use_id: 'a',
    is_error: true,
    content: [{ type: 'text', text: 'No' }, image],
  }
  const messages = [
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
    { role: 'user', content: [failed, { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }] },
  ]
  const { body } = messagesTranslator.toChatRequest({ model: 'm', max_tokens: 9, messages })
  expect(Array.isArray(body.messages) ? body.messages.slice(1) : null).toEqual([
    { role: 'tool', tool_call_id: 'a', content: 'Error: No' },
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      ],
    },
  ])
  const stored = { type: 'image', source: { type: 'file', file_id: 'file_1' } }
  const request = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: [stored] }] }
  expect(() => messagesTranslator.toChatRequest(request)).toThrow('messages.0.content.0.source.type')
})

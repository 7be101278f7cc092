import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createEgress } from '../../../adapters/egress/egress.ts'
import type { CompletionChunk } from '../../../adapters/models/provider.ts'
import { Guardrails, REDACTIONS } from '../../accounts/guardrails/schemas.ts'
import { createGuard, type GuardedCall } from './guard.ts'
import { guardChunks } from './guard-chunks.ts'
import { cleanText, compileTextRules } from './scan.ts'
import { listDeltas } from './stream-deltas.ts'

type Event = Record<string, unknown>
const settings = { deny: ['project falcon'], redact: [...REDACTIONS] }
const rules = compileTextRules(settings)
const call: GuardedCall = { model: null, keyId: null, agentId: null, signal: new AbortController().signal }
const egress = createEgress({ allowPrivate: true })

async function* toChunks(events: readonly Event[]): AsyncGenerator<CompletionChunk> {
  for (const event of events) {
    const name = typeof event.type === 'string' ? event.type : null
    const chunk = { event: name, json: JSON.stringify(event), said: 'x', isAnswer: true, isLast: false, usage: null }
    yield chunk
  }
}

async function pass(events: readonly Event[], guardrails: object = settings): Promise<Event[]> {
  const guard = createGuard(Guardrails.parse(guardrails), egress)
  const passed: Event[] = []
  for await (const { json } of guardChunks(guard, toChunks(events), call)) passed.push(JSON.parse(json))
  return passed
}

/** Streams of one text in three dialects. */
const DIALECTS: Record<string, (pieces: readonly string[]) => Event[]> = {
  chat: (pieces) => [
    { choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] },
    ...pieces.map((content) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } },
  ],
  messages: (pieces) => [
    { type: 'message_start', message: { content: [] } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...pieces.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ],
  responses: (pieces) =>
    [
      { type: 'response.created', response: { instructions: 'project falcon' } },
      ...pieces.map((delta) => ({ type: 'response.output_text.delta', item_id: 'msg_1', content_index: 0, delta })),
      { type: 'response.output_text.done', item_id: 'msg_1', content_index: 0, text: pieces.join('') },
      {
        type: 'response.completed',
        response: { output: [{ id: 'msg_1', content: [{ type: 'output_text', text: pieces.join('') }] }] },
      },
    ].map((event, index) => ({ ...event, sequence_number: index })),
}

const words = [
  'ada@example.com',
  '4111 1111 ',
  '1111 1111',
  ' ',
  'word',
  '@',
  '.',
  '+49 30 901820',
  'sk-proj-AbCdEf0123456789x',
]
const streams = fc
  .array(fc.constantFrom(...words), { maxLength: 12 })
  .chain((parts) => fc.tuple(fc.constant(parts.join('')), fc.array(fc.nat({ max: 80 }), { maxLength: 12 })))
  .map(([text, cuts]) => {
    const ends = [...new Set(cuts.filter((cut) => cut < text.length))].sort((one, other) => one - other)
    return [...ends, text.length].map((end, index) => text.slice(ends[index - 1] ?? 0, end))
  })

test.each(Object.entries(DIALECTS))(
  'guardChunks returns the same text as for a whole answer: %s',
  async (_, toEvents) => {
    await fc.assert(
      fc.asyncProperty(streams, async (pieces) => {
        const passed = await pass(toEvents(pieces))
        const { text } = cleanText(rules, pieces.join(''))
        expect(
          passed
            .flatMap(listDeltas)
            .map((delta) => delta.text)
            .join(''),
        ).toBe(text)
        expect(JSON.stringify(passed)).not.toContain('ada@example.com')
        expect(passed.at(-1)?.type).toBe(toEvents(pieces).at(-1)?.type)
        const numbers = passed.flatMap((event) => event.sequence_number ?? [])
        expect(numbers).toEqual(numbers.map((_number, index) => index))
      }),
      { numRuns: 200 },
    )
  },
)

test.each(Object.entries(DIALECTS))(
  'guardChunks ends the stream when a denied pattern occurs: %s',
  async (_, toEvents) => {
    const guard = createGuard(Guardrails.parse(settings), egress)
    const seen: Event[] = []
    const read = async () => {
      for await (const { json } of guardChunks(guard, toChunks(toEvents(['The pro', 'ject fal', 'con flies'])), call))
        seen.push(JSON.parse(json))
    }
    expect(await read().catch((error) => error)).toMatchObject({
      kind: 'invalid',
      extra: { code: 'GUARDRAIL_BLOCKED' },
    })
    expect(
      seen
        .flatMap(listDeltas)
        .map(({ text }) => text)
        .join(''),
    ).toBe('The ')
  },
)

test('guardChunks checks the arguments of tools and every choice separately', async () => {
  const delta = (index: number, changed: object, reason: string | null = null) => ({
    choices: [{ index, delta: changed, finish_reason: reason }],
  })
  const tool = (text: string) => ({
    tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: text } }],
  })
  const passed = await pass([
    delta(0, { content: 'ada@' }),
    delta(1, tool('{"to":"bo@exa')),
    delta(0, { content: 'example.com' }, 'stop'),
    delta(1, tool('mple.org"}')),
    delta(1, {}, 'tool_calls'),
  ])
  const said = Map.groupBy(passed.flatMap(listDeltas), ({ lane }) => lane)
  const texts = [...said].map(([lane, deltas]) => [lane, deltas.map(({ text }) => text).join('')])
  expect(texts).toEqual([
    ['0 content', '[email]'],
    ['1 tool 0', '{"to":"[email]"}'],
  ])
})

test('guardChunks returns everything unchanged when only the input is checked', async () => {
  const events = DIALECTS.chat?.(['project falcon']) ?? []
  expect(await pass(events, { ...settings, onOutput: false })).toEqual(events)
})

test.each(Object.entries(DIALECTS))(
  'guardChunks returns the answer as changed by the webhook: %s',
  async (_, toEvents) => {
    const asked: unknown[] = []
    using server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        asked.push(await request.json())
        return Response.json({ action: 'rewrite', texts: ['Rewritten'] })
      },
    })
    const webhook = { url: `http://127.0.0.1:${server.port}/judge`, timeoutMs: 2000, onFailure: 'closed' }
    const passed = await pass(toEvents(['Mail a', 'da@example.com']), { ...settings, webhook })
    expect(asked).toEqual([
      { version: 1, direction: 'output', model: null, keyId: null, agentId: null, texts: ['Mail [email]'] },
    ])
    expect(
      passed
        .flatMap(listDeltas)
        .map(({ text }) => text)
        .join(''),
    ).toBe('Rewritten')
    expect(JSON.stringify(passed)).not.toContain('Mail')
  },
)

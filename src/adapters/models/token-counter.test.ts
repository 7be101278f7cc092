import { afterAll, expect, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { createLog } from '../../core/log.ts'
import { createTokenCounter } from './token-counter.ts'

const logLines: string[] = []
const log = createLog('info', { write: (line) => void logLines.push(line) })
const counter = createTokenCounter({ log })
const LIMIT_MS = 60_000

afterAll(() => counter.close())

const ask = (content: unknown, rest: object = {}) =>
  JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...rest })

test.each([
  ['words', 'The quick brown fox jumps over the lazy dog. '],
  ['an alphabet of many letters', '今天天气很好，我们去公园散步吧。'],
  ['code', 'const x = (a: number) => a * 2 // doubles\n'],
  ['what looks like a mark of the tokenizer', 'Say <|endoftext|> and <|im_start|> to me. '],
])(
  'count differs from the tokenizer by at most two percent when the text is %s',
  async (_what, sentence) => {
    const text = sentence.repeat(200)
    const exact = countTokens(text, { disallowedSpecial: new Set() })
    const { input, output } = await counter.count({ request: ask(text), said: text })
    expect(Math.abs(output - exact)).toBeLessThanOrEqual(exact / 50)
    expect(input - output).toBeGreaterThanOrEqual(1)
    expect(input - output).toBeLessThan(10)
    expect(logLines).toEqual([])
  },
  LIMIT_MS,
)

test(
  'count includes tools, calls, reasoning, parts and images but no JSON syntax',
  async () => {
    const countOf = async (request: string) => (await counter.count({ request, said: '' })).input
    const plain = await countOf(ask('Hi'))
    expect(plain).toBeLessThan(8)
    const words = 'one two three four five six seven eight nine ten '.repeat(10)
    const tool = { type: 'function', function: { name: 'f', description: words, parameters: { type: 'object' } } }
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: words } }
    const requests = [
      ask('Hi', { tools: [tool] }),
      JSON.stringify({ messages: [{ role: 'assistant', content: null, tool_calls: [call] }] }),
      JSON.stringify({ messages: [{ role: 'assistant', content: 'Hi', reasoning_content: words }] }),
      ask([{ type: 'text', text: words }]),
      JSON.stringify({ model: 'm', input: [words] }),
      JSON.stringify({ model: 'm', input: words }),
    ]
    for (const request of requests) expect(await countOf(request)).toBeGreaterThanOrEqual(100)
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } }
    const seen = await countOf(ask([{ type: 'text', text: 'What is it?' }, picture]))
    expect(seen).toBeGreaterThan(1000)
    expect(seen).toBeLessThan(3000)
    const output = [{ type: 'input_image', image_url: picture.image_url.url }]
    const result = { type: 'function_call_output', call_id: 'c', output }
    expect(await countOf(JSON.stringify({ model: 'm', input: [result] }))).toBe(2000)
    expect(await countOf(JSON.stringify({ model: 'm', input: [[1, 2, 3], [4]] }))).toBe(4)
    expect(logLines).toEqual([])
  },
  LIMIT_MS,
)

test.each([
  ['one letter', 'a'.repeat(4_000_000)],
  ['no spaces', 'The-quick-brown-fox-'.repeat(200_000)],
])(
  'count finishes quickly when a very long text consists of %s',
  async (_what, text) => {
    const { output } = await counter.count({ request: ask(text), said: text })
    expect(output).toBeGreaterThan(text.length / 20)
    expect(output).toBeLessThan(text.length)
    expect(logLines).toEqual([])
  },
  LIMIT_MS,
)

test(
  'count estimates from the length and logs it when counting fails or times out',
  async () => {
    const lines: string[] = []
    const hasty = createTokenCounter(
      { log: createLog('info', { write: (line) => void lines.push(line) }) },
      { countMs: 0 },
    )
    expect(await hasty.count({ request: ask('Hi'), said: 'x'.repeat(300) })).toMatchObject({ output: 100 })
    expect(lines).toHaveLength(1)
    hasty.close()
    expect(await counter.count({ request: 'no JSON', said: 'x'.repeat(300) })).toMatchObject({ output: 100 })
    expect(logLines).toHaveLength(1)
    const { output } = await counter.count({ request: ask('Hi'), said: 'Hello there' })
    expect(output).toBe(2)
  },
  LIMIT_MS,
)

test(
  'count queues concurrent calls and estimates from the length when the queue is full',
  async () => {
    const counts = await Promise.all(
      Array.from({ length: 200 }, () => counter.count({ request: ask('Hi'), said: 'Hello there' })),
    )
    expect(counts.filter(({ output }) => output === 2).length).toBeGreaterThanOrEqual(64)
    expect(new Set(counts.map(({ output }) => output))).toEqual(new Set([2, 4]))
  },
  LIMIT_MS,
)

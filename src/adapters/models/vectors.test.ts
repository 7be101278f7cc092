import { expect, test } from 'bun:test'
import { findHold } from '../../../tests/harness/speed/loop-hold.ts'
import { measureSlowness } from '../../../tests/harness/speed/machine-speed.ts'
import { createHttpProvider } from './http-provider.ts'
import { parseVectors } from './vectors.ts'

test.each([
  [
    'lists',
    '{"data":[{"embedding":[0.5,1]},{"embedding" : [ -1e-3 , 2 ]}]}',
    [{ embedding: [0.5] }, { embedding: [-0.001] }],
  ],
  ['texts', '{"data":[{"embedding":"AAA\\/A=="}]}', [{ embedding: '' }]],
  ['no numbers', '{"data":[{"embedding":[]},{"embedding":["a"]}]}', [{ embedding: [] }, { embedding: ['a'] }]],
  [
    'nothing',
    '{"data":[{"embedding":null},{"embedding":{"a":[1]}}]}',
    [{ embedding: null }, { embedding: { a: [1] } }],
  ],
  ['a text that looks like one', String.raw`{"data":["\"embedding\":[1,2]"]}`, ['"embedding":[1,2]']],
  ['the word alone', '{"data":["embedding"]}', ['embedding']],
])('parseVectors keeps the first number when vectors are %s', async (_what, json, data) => {
  expect(await parseVectors(json)).toEqual({ data })
})

test.each([
  ['a vector without an end', '{"data":[{"embedding":[1,2'],
  ['a number that is none', '{"data":[{"embedding":[1,x]}]}'],
  ['lists in a vector', '{"data":[{"embedding":[[1],[2]]}]}'],
  ['nothing after the last', '{"data":[{"embedding":[1]}'],
  ['too much beside', `{"data":[${'1,'.repeat(200_000)}1]}`],
])('parseVectors throws when the answer contains %s', async (_what, json) => {
  await expect(parseVectors(json)).rejects.toThrow(SyntaxError)
})

const FLOOD_CHARACTERS = 60_000_000

test.each([
  ['one vector', '{"data":[{"embedding":[', '1,', '1]}]}'],
  ['one text', '{"data":[{"embedding":"', 'A', '"}]}'],
  ['white space behind the word', '{"data":[{"embedding"', ' ', ':[1]}]}'],
  ['the word again and again', '{"data":[', '"embedding",', '1]}'],
  ['empty vectors', '{"data":[', '{"embedding":[]},', '1]}'],
  ['what is no vector', '{"data":[', '1,', '1]}'],
])(
  'parseVectors throws without blocking when the answer has sixty million characters of %s',
  async (_what, head, part, end) => {
    const json = Buffer.concat([Buffer.from(head), Buffer.alloc(FLOOD_CHARACTERS, part), Buffer.from(end)]).toString(
      'latin1',
    )
    const limitMs = 50 * measureSlowness()
    const work = () => expect(parseVectors(json)).rejects.toThrow(SyntaxError)
    expect(await findHold(limitMs, work)).toBeLessThan(limitMs)
  },
)

test('embed returns 2,048 vectors of 1,536 numbers unchanged without blocking', async () => {
  const vector = JSON.stringify({
    object: 'embedding',
    embedding: Array.from({ length: 1536 }, (_, at) => Number(Math.sin(at).toFixed(9))),
  })
  const json = `{"model":"m","data":[${`${vector},`.repeat(2047)}${vector}],"usage":{"prompt_tokens":7}}`
  const bytes = Buffer.from(json)
  using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(bytes, { headers: { 'content-type': 'application/json' } }),
  })
  const options = { id: 'p', baseUrl: `http://127.0.0.1:${server.port}`, apiKey: 'k', timeoutMs: 600_000 }
  const provider = createHttpProvider(options, { fetch })
  const limitMs = 50 * measureSlowness()
  const embed = () => provider.embed({ body: { model: 'm' }, json: '{}' }, AbortSignal.timeout(600_000))
  expect(await findHold(limitMs, embed)).toBeLessThan(limitMs)
  const answer = await embed()
  expect(answer.json === json).toBe(true)
  expect(answer.usage).toMatchObject({ inputTokens: 7 })
}, 600_000)

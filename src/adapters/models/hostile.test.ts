import { expect, test } from 'bun:test'
import { findHold } from '../../../tests/harness/speed/loop-hold.ts'
import { measureSlowness } from '../../../tests/harness/speed/machine-speed.ts'
import { createHttpProvider } from './http-provider.ts'
import type { Dialect } from './provider.ts'

const HOLD_MS = 50
const TIMEOUT_MS = 600_000
const requestIn = (dialect: Dialect) => ({ dialect, body: { model: 'm' }, json: '{}' })
const request = requestIn('chat')

/** Starts a provider that answers every request with the same text. */
function startHostile(text: string, type: string, headers: Record<string, string> = {}, status = 200) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(text, { status, headers: { 'content-type': type, ...headers } }),
  })
  const options = { id: 'p', baseUrl: `http://127.0.0.1:${server.port}`, apiKey: 'k', timeoutMs: TIMEOUT_MS }
  return { provider: createHttpProvider(options, { fetch }), [Symbol.asyncDispose]: () => server.stop(true) }
}

const many = (one: string, bytes: number) => `[${`${one},`.repeat(bytes / (one.length + 1) - 1)}${one}]`
const nested = (bytes: number) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2)

test.each([
  ['nothing, again and again', many('{}', 20_000_000)],
  ['nothing, as often as is read', many('{}', 800_000)],
  ['numbers, as many as are read', many('1', 500_000)],
  ['lists in each other', nested(2_000_000)],
])(
  'every provider method stays responsive when answers contain %s',
  async (_what, said) => {
    const limitMs = HOLD_MS * measureSlowness()
    for (const name of ['choices', 'data', 'content', 'output']) {
      await using hostile = startHostile(`{"${name}":${said}}`, 'application/json')
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      for (const ask of [
        () => hostile.provider.complete(request, signal),
        () => hostile.provider.complete(requestIn('messages'), signal),
        () => hostile.provider.complete(requestIn('responses'), signal),
        () => hostile.provider.embed(request, signal),
        () => hostile.provider.listModels(signal),
      ]) {
        const work = () => expect(ask()).rejects.toMatchObject({ failure: 'broken' })
        expect(await findHold(limitMs, work)).toBeLessThan(limitMs)
      }
    }
  },
  TIMEOUT_MS,
)

const STREAM_BYTES = 15_000_000
const repeat = (text: string) => text.repeat(STREAM_BYTES / text.length)

test.each<[string, string, Dialect?]>([
  [
    'a letter each time in Messages',
    repeat('data: {"type":"content_block_delta","delta":{"text":"a"}}\n\n'),
    'messages',
  ],
  ['one event of usage in Messages', `data: {"type":"ping","usage":${many('{}', 10_000_000)}}\n\n`, 'messages'],
  ['a letter each time in Responses', repeat('data: {"type":"a.delta","delta":"a"}\n\n'), 'responses'],
  ['one event of items in Responses', `data: {"type":"a","item":{"content":${many('1', 50_000)}}}\n\n`, 'responses'],
  ['a letter each time', repeat('data: {"choices":[{"delta":{"content":"a"}}]}\n\n')],
  ['nothing', repeat('data: {"choices":[]}\n\n')],
  ['comments', repeat(':\n')],
  ['ends of lines', repeat('\r')],
  ['one event of choices', `data: {"choices":${many('{}', 10_000_000)}}\n\n`],
  ['one event of choices, as many as are read', `data: {"choices":${many('1', 50_000)}}\n\n`],
])(
  'stream stays responsive when a provider endlessly sends %s',
  async (_what, said, dialect = 'chat') => {
    const limitMs = HOLD_MS * measureSlowness()
    await using hostile = startHostile(said, 'text/event-stream')
    const read = async () => {
      const chunks = await hostile.provider.stream(requestIn(dialect), AbortSignal.timeout(TIMEOUT_MS))
      for await (const { usage } of chunks) if (usage) throw new Error('It says what it used')
    }
    const work = () => expect(read()).rejects.toMatchObject({ failure: 'broken', isSpent: true })
    expect(await findHold(limitMs, work)).toBeLessThan(limitMs)
  },
  TIMEOUT_MS,
)

test('complete stops reading when an answer does not end', async () => {
  let sentBytes = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            sentBytes += 1_000_000
            controller.enqueue(new Uint8Array(1_000_000).fill(0x20))
          },
        }),
        { headers: { 'content-type': 'application/json' } },
      ),
  })
  await using _stopping = { [Symbol.asyncDispose]: () => server.stop(true) }
  const options = { id: 'p', baseUrl: `http://127.0.0.1:${server.port}`, apiKey: 'k', timeoutMs: TIMEOUT_MS }
  const provider = createHttpProvider(options, { fetch })
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  await expect(provider.complete(request, signal)).rejects.toMatchObject({ failure: 'broken', isSpent: true })
  await expect(provider.embed(request, signal)).rejects.toMatchObject({ failure: 'broken', isSpent: true })
  await expect(provider.listModels(signal)).rejects.toMatchObject({ failure: 'broken' })
  expect(sentBytes).toBeLessThan(300_000_000)
})

test('retryAfterMs is limited to one day when Retry-After is infinite', async () => {
  await using hostile = startHostile('', 'text/plain', { 'retry-after': '1e999' }, 429)
  const work = hostile.provider.complete(request, AbortSignal.timeout(TIMEOUT_MS))
  await expect(work).rejects.toMatchObject({
    failure: 'limited',
    retryAfterMs: 86_400_000,
    extra: { retryAfter: '86400' },
  })
})

test.each([[2], [1e308]])('listModels omits the price when a token costs %d US dollars', async (price) => {
  const models = { data: [{ id: 'm', pricing: { prompt: String(price), completion: '0.000001' } }] }
  await using hostile = startHostile(JSON.stringify(models), 'application/json')
  await expect(hostile.provider.listModels(AbortSignal.timeout(TIMEOUT_MS))).rejects.toMatchObject({
    failure: 'broken',
  })
})

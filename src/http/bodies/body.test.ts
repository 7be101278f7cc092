import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import fc from 'fast-check'
import { z } from 'zod'
import { TEST_ENDPOINT } from '../../../tests/harness/documents/test-endpoint.ts'
import { post, testApp } from '../../../tests/harness/http.ts'
import { until } from '../../../tests/harness/until.ts'
import { openRaw } from '../../../tests/harness/wires/raw-http.ts'
import { endpoint } from '../endpoint.ts'
import { validate } from '../validate.ts'
import { MAX_LARGE_BODY_BYTES, receiveText } from './body.ts'

const MEGABYTE = 1024 * 1024
const TOO_LARGE = { error: 'Request body too large' }

/** Answers with what arrived, so that a test sees whether the body survived the checks. */
const echo: Parameters<typeof testApp>[0] = (app) =>
  app.post('/echo', async (c) => c.json({ length: (await receiveText(c)).length }))

const { request, listen } = testApp((app) => {
  echo(app)
  app.post('/json', async (c) => c.json(JSON.parse(await receiveText(c))))
  app.post('/large', endpoint({ ...TEST_ENDPOINT, maxBodyBytes: MAX_LARGE_BODY_BYTES }), async (c) =>
    c.json({ length: (await receiveText(c)).length }),
  )
  app.post('/checked', validate('json', z.object({ name: z.string('Name is required') })), (c) =>
    c.json(c.req.valid('json')),
  )
  app.get('/checked', validate('query', z.object({ page: z.coerce.number('page must be a number') })), (c) =>
    c.json(c.req.valid('query')),
  )
  app.delete('/thing', (c) => c.json({ deleted: true }))
  app.get('/thing', (c) => c.json({ found: true }))
})

describe('body size', () => {
  test.each([
    [MEGABYTE, 200],
    [MEGABYTE + 1, 413],
  ])('with %i bytes and Content-Length → %i', async (sizeBytes, status) => {
    const response = await request('/echo', {
      method: 'POST',
      body: 'x'.repeat(sizeBytes),
      headers: lengthOf(sizeBytes),
    })
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual(status === 200 ? { length: sizeBytes } : TOO_LARGE)
  })

  test.each([
    [MEGABYTE, 200],
    [MEGABYTE + 1, 413],
    [20 * MEGABYTE, 413],
  ])('with %i bytes in chunks over a socket → %i', async (sizeBytes, status) => {
    await using server = listen()
    const response = await fetch(new URL('/echo', server.url), { method: 'POST', body: inChunks(sizeBytes) })
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual(status === 200 ? { length: sizeBytes } : TOO_LARGE)
  })

  test('is limited when chunks come with a Content-Length', async () => {
    await using server = listen()
    const answer = await exchange(server.port ?? 0, [
      'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n',
      `${(2 * MEGABYTE).toString(16)}\r\n${'x'.repeat(2 * MEGABYTE)}\r\n0\r\n\r\n`,
    ])
    expect(answer).toMatch(/^HTTP\/1\.1 4(00|13) /)
  })

  test('may be up to 8 MB when the route declares it', async () => {
    const send = (sizeBytes: number) =>
      request('/large', { method: 'POST', body: 'x'.repeat(sizeBytes), headers: lengthOf(sizeBytes) })
    expect((await send(8 * MEGABYTE)).status).toBe(200)
    expect((await send(8 * MEGABYTE + 1)).status).toBe(413)
  })

  test('may be exactly 1 MB', async () => {
    const text = 'x'.repeat(MEGABYTE - 2)
    const response = await request('/json', post(text))
    expect(response.status).toBe(200)
    expect(await response.json()).toBe(text)
  })
})

describe('incomplete bodies', () => {
  const half = 'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: '

  test.each([
    ['small', 100],
    ['large', 500_000],
  ])('%s, byte by byte: 408 after the time limit, and the connection is closed', async (_size, length) => {
    const slow = testApp(echo, { bodies: { timeoutMs: 300 } })
    await using server = slow.listen()
    using connection = await openRaw(server.url.href)
    await connection.write(`${half}${length}\r\n\r\n`)
    const drip = setInterval(() => void connection.write('x'), 20)
    const answer = await connection.answer().finally(() => clearInterval(drip))
    expect([answer.status, JSON.parse(answer.body)]).toEqual([408, { error: 'Request body took too long' }])
    await until('the end of the connection', connection.isOver)
    expect(slow.lines.filter(({ level }) => Number(level) >= 40)).toEqual([])
  })

  test.each([
    ['small', 100],
    ['large', 500_000],
  ])('%s is not an error when the caller disconnects', async (_size, length) => {
    const left = Promise.withResolvers<unknown>()
    const app = testApp((routes) =>
      routes.post('/echo', (c) =>
        receiveText(c).then(
          () => c.json({}),
          (error) => {
            left.resolve(error)
            throw error
          },
        ),
      ),
    )
    await using server = app.listen()
    using connection = await openRaw(server.url.href)
    await connection.write(`${half}${length}\r\n\r\n{"half": `)
    connection[Symbol.dispose]()
    expect(await left.promise).toMatchObject({ kind: 'invalid', message: 'Request body was cut off' })
    expect(app.lines.filter(({ level }) => Number(level) >= 40)).toEqual([])
  })

  test('503 with Retry-After when bodies exceed their memory, while small ones succeed', async () => {
    const full = testApp(echo, { bodies: { strangerBytes: 200_000 } })
    await using server = full.listen()
    using holding = await openRaw(server.url.href)
    await holding.write(`${half}150000\r\n\r\n${'x'.repeat(149_999)}`)
    const refused = await until('503', async () => {
      const response = await fetch(new URL('/echo', server.url), { method: 'POST', body: 'x'.repeat(150_000) })
      return response.status === 503 ? response : null
    })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toMatchObject({ error: 'Too many request bodies are under way' })
    expect((await fetch(new URL('/echo', server.url), { method: 'POST', body: 'x'.repeat(1000) })).status).toBe(200)
    await holding.write('x')
    expect((await holding.answer()).status).toBe(200)
    const again = await fetch(new URL('/echo', server.url), { method: 'POST', body: 'x'.repeat(150_000) })
    expect(again.status).toBe(200)
  })

  test('are discarded when no handler reads them, without delaying the server', async () => {
    const kept: unknown[] = []
    let pulls = 0
    const body = new ReadableStream({ pull: () => void pulls++ }, { highWaterMark: 0 })
    const ignoring = testApp((app) => app.post('/echo', (c) => c.json({ ignored: true })))
    const response = await ignoring.request(
      '/echo',
      { method: 'POST', body, headers: { 'content-length': '500000', 'content-type': 'application/json' } },
      { keepOpen: (_request, seconds) => void kept.push(seconds) },
    )
    expect([response.status, pulls, kept]).toEqual([200, 0, [10]])
    const whole = testApp(echo)
    await whole.request(
      '/echo',
      { method: 'POST', body: 'x' },
      { keepOpen: (_request, seconds) => void kept.push(seconds) },
    )
    expect(kept).toEqual([10])
  })
})

describe('JSON', () => {
  test('is read when nested 64 deep, and refused at 65', async () => {
    expect(await statusOf(nested(64))).toBe(200)
    expect(await statusOf(nested(65))).toBe(400)
    expect(await statusOf(nested(100_000))).toBe(400)
    expect(await statusOf(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`)).toBe(400)
  })

  test('may have brackets in strings', async () => {
    expect(await statusOf(JSON.stringify({ a: '['.repeat(1000), '"{{{\\': '\\"[['.repeat(100) }))).toBe(200)
  })

  test('is read with 20,000 values, and refused before parsing with more; commas in strings do not count', async () => {
    expect(await statusOf(`[${'1,'.repeat(19_998)}1]`)).toBe(200)
    for (const many of [`[${'1,'.repeat(20_000)}1]`, `[${'{},'.repeat(300_000)}{}]`, manyNames(60_000)]) {
      const response = await request('/json', { ...post(null), body: many })
      expect([response.status, await response.json()]).toEqual([400, { error: 'JSON has more than 20000 values' }])
    }
    expect(await statusOf(JSON.stringify({ a: ',{['.repeat(30_000) }))).toBe(200)
  })

  test.each([
    ['a lone continuation byte', [0x22, 0x80, 0x22]],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a sequence that is cut off', [0x22, 0xf0, 0x9f, 0x98]],
  ])('is refused when it is not UTF-8: %s', async (_name, bytes) => {
    const response = await request('/json', { ...post(null), body: new Uint8Array(bytes) })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 'Request body is not valid UTF-8' })
  })

  test('is returned unchanged for any value', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 8, stringUnit: 'binary' }), async (value) => {
        const response = await request('/json', post(value))
        expect(await response.text()).toBe(JSON.stringify(value))
      }),
    )
  })

  test('of a GET or DELETE may be empty when a content type is sent', async () => {
    for (const method of ['GET', 'DELETE']) {
      const response = await request('/thing', { method, headers: { 'content-type': 'application/json' } })
      expect(response.status).toBe(200)
    }
  })

  function nested(depth: number): string {
    return '['.repeat(depth) + ']'.repeat(depth)
  }

  async function statusOf(json: string): Promise<number> {
    return (await request('/json', { ...post(null), body: json })).status
  }
})

describe('validate', () => {
  test('drops fields that the schema does not declare', async () => {
    const response = await request('/checked', post({ name: 'Ada', isAdmin: true }))
    expect(await response.json()).toEqual({ name: 'Ada' })
  })

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/merge-patch+json',
  ])('accepts %s', async (type) => {
    expect((await request('/checked', post({ name: 'Ada' }, { 'content-type': type }))).status).toBe(200)
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'text/json',
    'multipart/form-data; boundary=x',
  ])('returns 400 for %s', async (type) => {
    const response = await request('/checked', post({ name: 'Ada' }, { 'content-type': type }))
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 'Content-Type must be application/json' })
  })

  test('refuses a body without a type → 400', async () => {
    const response = await request('/checked', { method: 'POST', body: new Uint8Array([0x7b, 0x7d]) })
    expect(response.status).toBe(400)
  })

  test.each(['', '{', '{"name":"Ada"', 'undefined', '{"name":"Ada"}}'])(
    'refuses malformed JSON %j → 400',
    async (body) => {
      const response = await request('/checked', { ...post(null), body })
      expect(response.status).toBe(400)
      expect(await response.json()).toEqual({ error: expect.any(String) })
    },
  )

  test.each(['null', '[]', '"Ada"', '{"name":7}', '{}'])(
    'refuses %s, which is JSON of another shape → 400',
    async (body) => {
      expect((await request('/checked', { ...post(null), body })).status).toBe(400)
    },
  )

  test('reports the first issue with the schema’s message', async () => {
    expect(await (await request('/checked', post({}))).json()).toEqual({ error: 'Name is required' })
    expect(await (await request('/checked?page=two')).json()).toEqual({ error: 'page must be a number' })
  })

  test('validates a query', async () => {
    expect(await (await request('/checked?page=2&other=1')).json()).toEqual({ page: 2 })
  })
})

function lengthOf(sizeBytes: number): Record<string, string> {
  return { 'content-length': String(sizeBytes) }
}

function inChunks(sizeBytes: number): ReadableStream<Uint8Array> {
  let left = sizeBytes
  return new ReadableStream({
    pull(controller) {
      const size = Math.min(left, 60_000)
      if (size > 0) controller.enqueue(new Uint8Array(size).fill(0x78))
      left -= size
      if (left === 0) controller.close()
    },
  })
}

/** Sends exactly these bytes on one connection and returns the server's answer. */
async function exchange(port: number, parts: string[]): Promise<string> {
  const answer = Promise.withResolvers<string>()
  let text = ''
  const socket = connect(port, '127.0.0.1')
  socket.on('data', (chunk) => {
    text += chunk.toString()
  })
  socket.on('close', () => answer.resolve(text))
  // A server that refuses may close while the rest is still being sent.
  socket.on('error', () => answer.resolve(text))
  for (const part of parts) socket.write(part)
  return answer.promise
}

function manyNames(count: number): string {
  return JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`name${index}`, 1])))
}

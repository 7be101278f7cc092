import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { createEgress, type EgressRequest } from '../../../src/adapters/egress/egress.ts'
import { EgressError } from '../../../src/adapters/egress/error.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'
import { until } from '../../harness/until.ts'
import { openInternet, PUBLIC, PUBLIC_V6 } from './internet.ts'

const REQUEST: EgressRequest = { timeoutMs: 60_000 }
const PAGE = '<p>hello</p>'
const MEGABYTE = 1024 * 1024
const TLS = join(import.meta.dir, '../../fixtures/tls')

type Options = Parameters<typeof openInternet>[0]

async function openEgress(options: Options) {
  const internet = await openInternet(options)
  return { ...internet, egress: createEgress({ allowPrivate: false, network: internet.network }) }
}

/** Returns the error of a request to a server that responds with `handler`, reading the whole body. */
async function failure(handler: Options['handler'], request: EgressRequest = REQUEST): Promise<string> {
  const { egress, server } = await openEgress({ ...(handler ? { handler } : {}) })
  const answer = egress.request('http://pages.example/', request).then((response) => response.bytes())
  const error = await answer.then(
    () => null,
    (reason: unknown) => reason,
  )
  await until('the connection to be closed', () => countConnections(server))
  return error instanceof EgressError ? error.failure : String(error)
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

function countConnections(server: { getConnections(done: (error: Error | null, count: number) => void): void }) {
  return new Promise<boolean>((resolve) => server.getConnections((_error, count) => resolve(count === 0)))
}

test('a request sends the given headers to the checked address and keeps the host name', async () => {
  const heads: IncomingMessage[] = []
  let body = ''
  const { egress, dialled } = await openEgress({
    handler(request, response) {
      heads.push(request)
      request.on('data', (chunk) => (body += chunk))
      request.on('end', () => {
        response.writeHead(201, { 'content-type': 'application/json', 'set-cookie': 'a=b', 'x-one': '1' })
        response.end('{}')
      })
    },
  })
  const response = await egress.request('http://Pages.Example:8080/hook?a=1#part', {
    ...REQUEST,
    method: 'POST',
    headers: {
      Authorization: 'Bearer t',
      'Content-Type': 'application/json',
      Host: 'evil.example',
      Connection: 'keep-alive',
    },
    body: '{"é":1}',
  })
  expect(text(await response.bytes())).toBe('{}')
  expect(response.status).toBe(201)
  expect(response.url).toBe('http://pages.example:8080/hook?a=1#part')
  expect(response.headers.get('x-one')).toBe('1')
  expect(response.headers.has('set-cookie')).toBe(false)
  expect(heads[0]).toMatchObject({ method: 'POST', url: '/hook?a=1' })
  expect(heads[0]?.headers).toMatchObject({
    host: 'pages.example:8080',
    authorization: 'Bearer t',
    connection: 'close',
    'content-length': '8',
    'accept-encoding': 'gzip, br, zstd',
  })
  expect(body).toBe('{"é":1}')
  expect(dialled).toEqual([PUBLIC])
})

test.each([
  ['identity', (text: string) => Buffer.from(text)],
  ['gzip', (text: string) => gzipSync(text)],
  ['X-GZIP', (text: string) => gzipSync(text)],
  ['br', (text: string) => brotliCompressSync(text)],
  ['zstd', (text: string) => Bun.zstdCompressSync(text)],
])('a body with content-encoding %s is decompressed', async (coding, pack) => {
  const { egress } = await openEgress({
    handler: (_request, response) => response.writeHead(200, { 'content-encoding': coding }).end(pack(PAGE)),
  })
  const response = await egress.request('http://pages.example/', REQUEST)
  expect(text(await response.bytes())).toBe(PAGE)
})

test.each([
  ['two content encodings', 'gzip, gzip', gzipSync(gzipSync(PAGE))],
  ['an encoding that was not requested', 'deflate', deflateSync(PAGE)],
  ['no compression', 'gzip', Buffer.from(PAGE)],
  ['a truncated gzip stream', 'gzip', gzipSync(PAGE.repeat(1000)).subarray(0, 30)],
  ['an encoding named like an object property', 'constructor', Buffer.from(PAGE)],
])('a request fails when the body has %s', async (_name, coding, body) => {
  expect(await failure((_request, response) => response.writeHead(200, { 'content-encoding': coding }).end(body))).toBe(
    'broken',
  )
})

test('a request fails when the body ends before its length', async () => {
  const cut = await failure((_request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('half', () => response.destroy())
  })
  expect(cut).toBe('broken')
})

test.each(['gzip', 'br', 'zstd'] as const)(
  'a compressed body of %s stops at the limit when it expands to a huge one',
  async (coding) => {
    const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
    const packers = {
      gzip: gzipSync,
      br: (data: Buffer) => brotliCompressSync(data, quick),
      zstd: Bun.zstdCompressSync,
    }
    const bomb = packers[coding](Buffer.alloc(64 * MEGABYTE))
    const startedAt = performance.now()
    const bombed = await failure((_request, response) =>
      response.writeHead(200, { 'content-encoding': coding }).end(bomb),
    )
    expect(bombed).toBe('too_large')
    expect(performance.now() - startedAt).toBeLessThan(atMostMs(2000))
  },
)

test('a body without end stops at the limit, and the connection is closed', async () => {
  let sent = 0
  const endless = await failure((_request, response) => {
    const chunk = Buffer.alloc(64 * 1024)
    const pump = () => {
      while (!response.destroyed) {
        sent += chunk.length
        if (!response.write(chunk)) return
      }
    }
    response.on('drain', pump)
    pump()
  })
  expect(endless).toBe('too_large')
  expect(sent).toBeLessThan(32 * MEGABYTE)
})

test('a body of exactly the limit is accepted, and one byte more is not', async () => {
  const limits = { ...REQUEST, maxWireBytes: 1000, maxBytes: 1000 }
  expect(await failure((_request, response) => response.end(Buffer.alloc(1000)), limits)).toBe('null')
  expect(await failure((_request, response) => response.end(Buffer.alloc(1001)), limits)).toBe('too_large')
})

test.each<[string, Options['handler'], string]>([
  ['never answers', () => {}, 'unreachable'],
  ['drips its body', (request, response) => drip(request, () => response.write('x')), 'timeout'],
  [
    'drips its head',
    (request) => {
      request.socket.write('HTTP/1.1 200 OK\r\n')
      drip(request, () => request.socket.write('x-a: b\r\n'))
    },
    'unreachable',
  ],
  ['sends an endless head', (request) => flood(request), 'unreachable'],
  ['speaks another protocol', (request) => void request.socket.end('220 smtp ready\r\n'), 'unreachable'],
  ['closes at once', (request) => void request.socket.destroy(), 'unreachable'],
  [
    'switches protocols',
    (request) =>
      void request.socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    'unreachable',
  ],
  ['redirects to itself', (_request, response) => response.writeHead(302, { location: '/' }).end(), 'unreachable'],
])('a request ends at the time limit when a server %s', async (_name, handler, expected) => {
  const startedAt = performance.now()
  expect(await failure(handler, { timeoutMs: 400 })).toBe(expected)
  expect(performance.now() - startedAt).toBeLessThan(atMostMs(2000))
})

function drip(request: IncomingMessage, send: () => void): void {
  const timer = setInterval(send, 20)
  request.socket.on('close', () => clearInterval(timer))
}

function flood(request: IncomingMessage): void {
  request.socket.on('error', () => {})
  request.socket.write(`HTTP/1.1 200 OK\r\n${`x-a: ${'b'.repeat(1000)}\r\n`.repeat(5000)}`)
}

test('one time limit applies to name, redirects and body together', async () => {
  let asked = 0
  const { egress } = await openEgress({
    handler(_request, response) {
      asked++
      setTimeout(() => response.writeHead(302, { location: '/next' }).end(), 150)
    },
  })
  const startedAt = performance.now()
  await expect(egress.request('http://pages.example/', { timeoutMs: 400 })).rejects.toMatchObject({
    failure: 'unreachable',
  })
  expect(performance.now() - startedAt).toBeGreaterThan(350)
  // A time limit for each request would have allowed more.
  expect(asked).toBeLessThanOrEqual(3)

  const { network } = await openInternet({})
  const mute = createEgress({ allowPrivate: false, network: { ...network, resolve: () => new Promise(() => {}) } })
  await expect(mute.request('http://pages.example/', { timeoutMs: 100 })).rejects.toMatchObject({
    failure: 'unreachable',
  })
})

test('a signal ends a request and a running body', async () => {
  const { egress, server } = await openEgress({
    handler: (request, response) => drip(request, () => response.write('x')),
  })
  const stop = new AbortController()
  const response = await egress.request('http://pages.example/', { ...REQUEST, signal: stop.signal })
  const reading = response.bytes()
  stop.abort()
  await expect(reading).rejects.toMatchObject({ failure: 'timeout' })
  await expect(egress.request('http://pages.example/', { ...REQUEST, signal: stop.signal })).rejects.toThrow()
  await until('the connection to be closed', () => countConnections(server))
})

test('an unread body is closed by cancel and by disposal', async () => {
  const { egress, server } = await openEgress({
    handler: (request, response) => drip(request, () => response.write('x')),
  })
  const unread = await egress.request('http://pages.example/', REQUEST)
  unread.cancel()
  const left = await egress.request('http://pages.example/', REQUEST)
  for await (const chunk of left.body) {
    expect(chunk.length).toBeGreaterThan(0)
    break
  }
  await until('the connections to be closed', () => countConnections(server))
})

test('a body with another media type is refused without reading it, except in an error response', async () => {
  const accepts = ['text/html']
  const type =
    (status: number, value: string): Options['handler'] =>
    (_request, response) =>
      response.writeHead(status, { 'content-type': value }).end(PAGE)
  expect(await failure(type(200, 'image/png'), { ...REQUEST, accepts })).toBe('wrong_type')
  expect(await failure((_request, response) => response.end(PAGE), { ...REQUEST, accepts })).toBe('wrong_type')
  expect(await failure(type(200, 'Text/HTML; charset=utf-8'), { ...REQUEST, accepts })).toBe('null')
  expect(await failure(type(404, 'text/plain'), { ...REQUEST, accepts })).toBe('null')
})

test.each([
  [301, 'GET', ''],
  [302, 'GET', ''],
  [303, 'GET', ''],
  [307, 'POST', 'body'],
  [308, 'POST', 'body'],
])('a %i redirect of a POST continues as %s; credentials stay at their origin', async (status, method, body) => {
  const seen: { url: string; method: string; authorization: string; body: string }[] = []
  const { egress } = await openEgress({
    handler(request, response) {
      const { host = '', authorization = '' } = request.headers
      let text = ''
      request.on('data', (chunk) => (text += chunk))
      request.on('end', () => {
        seen.push({ url: `${host}${request.url}`, method: request.method ?? '', authorization, body: text })
        const location = request.url === '/a' ? '/b' : request.url === '/b' ? 'http://other.example/c' : null
        response.writeHead(location ? status : 200, location ? { location } : {}).end()
      })
    },
  })
  const response = await egress.request('http://pages.example/a', {
    ...REQUEST,
    method: 'POST',
    headers: { authorization: 'Bearer t', 'content-type': 'text/plain' },
    body: 'body',
  })
  expect(response.url).toBe('http://other.example/c')
  expect(seen).toEqual([
    { url: 'pages.example/a', method: 'POST', authorization: 'Bearer t', body: 'body' },
    { url: 'pages.example/b', method, authorization: 'Bearer t', body },
    { url: 'other.example/c', method, authorization: '', body },
  ])
})

test('five redirects are followed, six are not, and none when the caller disables them', async () => {
  let requests = 0
  const { egress } = await openEgress({
    handler(request, response) {
      requests++
      const left = Number(request.url?.slice(1))
      response.writeHead(left > 0 ? 302 : 200, left > 0 ? { location: `/${left - 1}` } : {}).end()
    },
  })
  expect((await egress.request('http://pages.example/5', REQUEST)).status).toBe(200)
  expect(requests).toBe(6)
  await expect(egress.request('http://pages.example/6', REQUEST)).rejects.toMatchObject({ failure: 'unreachable' })
  expect(requests).toBe(12)
  const redirect = await egress.request('http://pages.example/1', { ...REQUEST, maxRedirects: 0 })
  expect(redirect.status).toBe(302)
  expect(redirect.headers.get('location')).toBe('/0')
})

test('https: the certificate must match the requested name although the connection uses the address', async () => {
  const key = readFileSync(join(TLS, 'key.pem'), 'utf8')
  const cert = readFileSync(join(TLS, 'cert.pem'), 'utf8')
  const { egress, dialled, network } = await openEgress({ tls: { key, cert } })
  const response = await egress.request('https://pages.example/', REQUEST)
  expect(text(await response.bytes())).toBe('public')
  await expect(egress.request('https://other.example/', REQUEST)).rejects.toMatchObject({ failure: 'unreachable' })
  await expect(egress.request(`https://${PUBLIC}/`, REQUEST)).rejects.toMatchObject({ failure: 'unreachable' })
  expect(dialled).toEqual([PUBLIC, PUBLIC, PUBLIC])

  const { ca: _own, ...usual } = network
  const strict = createEgress({ allowPrivate: false, network: usual })
  await expect(strict.request('https://pages.example/', REQUEST)).rejects.toMatchObject({ failure: 'unreachable' })
})

test('the next checked address is used when one does not respond', async () => {
  const { network, serverPort } = await openInternet({ resolve: () => [PUBLIC_V6, PUBLIC] })
  const egress = createEgress({
    allowPrivate: false,
    network: {
      ...network,
      // Nothing listens on this loopback address; the second one is the server.
      route: ({ address }) => ({
        address: { address: address === PUBLIC ? '127.0.0.1' : '127.0.0.2', family: 4 },
        port: serverPort,
      }),
    },
  })
  const response = await egress.request('http://pages.example/', REQUEST)
  expect(text(await response.bytes())).toBe('public')
})

test('the caller gets the same error for refused, unknown and silent hosts; the log has the cause', async () => {
  const { egress } = await openEgress({
    handler: (request) => void request.socket.destroy(),
    resolve: (name) => (name === 'unknown.example' ? [] : name === 'inside.example' ? ['10.0.0.1'] : [PUBLIC]),
  })
  const noteCall = async (name: string) => {
    const error = await egress.request(`http://${name}.example/`, REQUEST).catch((reason: unknown) => reason)
    if (!(error instanceof EgressError)) throw new Error('Expected an error')
    return {
      text: error.message.replace(name, 'NAME'),
      kind: error.kind,
      extra: error.extra,
      cause: String(error.cause),
    }
  }
  const reported = await Promise.all(['unknown', 'inside', 'silent'].map(noteCall))
  expect(new Set(reported.map(({ cause: _cause, ...shown }) => JSON.stringify(shown))).size).toBe(1)
  expect(reported[0]?.cause).toContain('ENOTFOUND')
  expect(reported[1]?.cause).toContain('10.0.0.1')
  expect(new Set(reported.map(({ cause }) => cause)).size).toBe(3)
})

test('proxy settings of the environment are ignored', async () => {
  const { serverPort } = await openInternet({})
  const module = import.meta.resolve('../../../src/adapters/egress/egress.ts')
  const script = `const { createEgress } = await import(${JSON.stringify(module)})
    const response = await createEgress({ allowPrivate: true }).request('http://127.0.0.1:${serverPort}/', { timeoutMs: 5000 })
    console.log(new TextDecoder().decode(await response.bytes()))`
  const proxies = { HTTP_PROXY: 'http://127.0.0.1:1', http_proxy: 'http://127.0.0.1:1', NO_PROXY: '' }
  const child = Bun.spawn([process.execPath, '-e', script], { env: { ...process.env, ...proxies }, stdout: 'pipe' })
  expect((await child.stdout.text()).trim()).toBe('public')
})

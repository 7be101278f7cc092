import { expect, test } from 'bun:test'
import { testPlatform } from '../../../tests/harness/platform.ts'
import { bearer, json } from '../../../tests/harness/requests.ts'
import { SERVICE_KEY, startServer, type TestServer } from '../../../tests/harness/server.ts'
import { until } from '../../../tests/harness/until.ts'
import { askRaw, openRaw } from '../../../tests/harness/wires/raw-http.ts'
import { createAgentProxy } from '../agent-proxy.ts'
import { hostRuleOf } from './hosts.ts'
import { listen } from './listen.ts'

test.each([
  ['nobody is trusted', '', [403, 429]],
  ['this machine is trusted', '127.0.0.1', [403, 403]],
] as const)('X-Forwarded-For, when %s', async (_who, trusted, expected) => {
  await using server = await startServer({ TRUSTED_PROXIES: trusted, RATE_LIMIT_REGISTER: '1' })
  const statuses: number[] = []
  for (const address of ['203.0.113.1', '203.0.113.2']) {
    const request = json('POST', {}, { 'x-forwarded-for': address })
    statuses.push((await fetch(`${server.urls.web}/api/register`, request)).status)
  }
  expect(statuses).toEqual([...expected])
})

/** A connection to the web port for what no client would send; `firstLine` settles with the answer's. */
async function connect({ urls }: TestServer) {
  const answer = Promise.withResolvers<string>()
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: Number(new URL(urls.web).port),
    socket: { data: (_socket, bytes) => answer.resolve(bytes.toString().split('\r\n')[0] ?? '') },
  })
  return { write: (text: string) => socket.write(text), firstLine: answer.promise, end: () => socket.terminate() }
}

test('listen rejects a body of 1 MB plus one byte, with content-length or chunked', async () => {
  await using server = await startServer()
  const body = JSON.stringify({ name: 'x'.repeat(1024 * 1024) })
  const headers = { ...bearer(SERVICE_KEY), 'content-type': 'application/json' }
  const url = `${server.urls.backend}/api/agents`
  const whole = await fetch(url, { method: 'POST', headers, body })
  expect(whole.status).toBe(413)
  expect(await whole.json()).toEqual({ error: 'Request body too large' })
  const chunked = await fetch(url, { method: 'POST', headers, body: new Blob([body]).stream() })
  expect(chunked.status).toBe(413)
  expect(await chunked.json()).toEqual({ error: 'Request body too large' })
  expect(chunked.headers.get('connection')).toBe('close')
})

test('GET /readyz: 503 with Retry-After while the service starts; GET /healthz: 200', async () => {
  const settings = { host: '127.0.0.1', ports: { web: 0, backend: 0, summarizer: 0 }, trustedProxies: [] }
  const listeners = listen(() => null, { ...settings, judgeHost: () => 'served', noteMisdirected: () => undefined })
  try {
    for (const url of Object.values(listeners.localUrls)) {
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      const ready = await fetch(`${url}/readyz`)
      expect([ready.status, ready.headers.get('retry-after')]).toEqual([503, '1'])
    }
  } finally {
    await listeners.stop()
  }
})

/** The cookies that Chromium sends when a page has set as many as it may. */
const ALL_COOKIES = Array.from({ length: 180 }, (_none, index) => `bomb${index}=${'x'.repeat(4087)}`).join('; ')

test('GET /api/health, GET /health: 200 when a browser sends every cookie that it can keep, 431 beyond 800 KB', async () => {
  await using server = await startServer()
  for (const [url, path] of [
    [server.urls.web, '/api/health'],
    [server.urls.backend, '/health'],
    [server.urls.summarizer, '/health'],
  ] as const) {
    const ask = (cookie: string) => askRaw(url, [`GET ${path} HTTP/1.1`, 'Host: localhost', `Cookie: ${cookie}`])
    expect((await ask(ALL_COOKIES)).status).toBe(200)
    expect((await ask('x'.repeat(801 * 1024))).status).toBe(431)
  }
})

test('listeners.stop finishes a running request with connection: close and refuses new connections', async () => {
  const { platform, app, config } = testPlatform()
  const installation = { app, agentProxy: createAgentProxy(platform), router: null }
  const settings = { host: '127.0.0.1', ports: { web: 0, backend: 0, summarizer: 0 }, trustedProxies: [] }
  const rules = { judgeHost: hostRuleOf(config), noteMisdirected: () => undefined }
  const listeners = listen(() => installation, { ...settings, ...rules })
  const { web } = listeners.localUrls
  const body = JSON.stringify({ email: 'ada@example.com', password: 'no such account' })
  using underWay = await openRaw(web)
  const head = ['POST /api/auth/login HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
  await underWay.write(`${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 1)}`)
  await until('the request', () => listeners.countUnderWay().web.requests === 1)
  const stopped = listeners.stop()
  await expect(fetch(`${web}/healthz`, { keepalive: false })).rejects.toThrow()
  await underWay.write(body.slice(1))
  const { status, headers } = await underWay.answer()
  expect([status, headers.get('connection')]).toEqual([401, 'close'])
  await stopped
})

test('health checks of every port need no credentials and accept GET and HEAD', async () => {
  await using server = await startServer()
  for (const url of Object.values(server.urls)) {
    for (const path of ['/healthz', '/readyz']) {
      expect([path, (await fetch(url + path)).status]).toEqual([path, 200])
      expect([path, (await fetch(url + path, { method: 'HEAD' })).status]).toEqual([path, 200])
    }
  }
})

test('connections that do not speak HTTP do not affect others', async () => {
  await using server = await startServer()
  const strange = ['\r\n\r\n', 'GET\r\n\r\n', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\n\r\n`, '\u0016\u0003\u0001']
  const connections = await Promise.all(
    [...strange, 'GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n'].map(async (text) => {
      const connection = await connect(server)
      connection.write(text)
      return connection
    }),
  )
  expect(await connections.at(-1)?.firstLine).toBe('HTTP/1.1 200 OK')
  for (const connection of connections) connection.end()
})

import { expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { z } from 'zod'
import { startPlatformDouble } from '../../harness/doubles/platform.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'
import { until } from '../../harness/until.ts'
import { openRaw } from '../../harness/wires/raw-http.ts'
import { openAgentProxy, startAgentDouble } from './open-agent-proxy.ts'

const Reported = z.record(z.string(), z.string())
/** Returns the received request. */
const mirror = (request: Request) => Response.json(Object.fromEntries(request.headers))

test('a request keeps method, path, query, body and headers, and its response is returned unchanged', async () => {
  using agent = startAgentDouble(async (request) => {
    const { pathname, search } = new URL(request.url)
    const text = `${request.method} ${pathname}${search} ${request.headers.get('authorization')} ${await request.text()}`
    return new Response(text, { status: 418, headers: { 'x-agent': 'ada', etag: '"1"' } })
  })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const response = await agentProxy.ask('ada', '/v1/x%20y?q=a%2Fb', {
    method: 'PUT',
    body: 'words',
    headers: { authorization: 'Bearer gw_1' },
  })
  expect(response.status).toBe(418)
  expect(response.headers.get('x-agent')).toBe('ada')
  expect(response.headers.get('etag')).toBe('"1"')
  expect(response.headers.get('content-security-policy')).toBeNull()
  expect(await response.text()).toBe('PUT /v1/x%20y?q=a%2Fb Bearer gw_1 words')
})

test.each([
  ['GET', 304],
  ['GET', 204],
  ['HEAD', 200],
])('%s with %i: no body and the same headers', async (method, status) => {
  using agent = startAgentDouble(() =>
    method === 'HEAD' ? new Response('x'.repeat(77)) : new Response(null, { status, headers: { etag: '"1"' } }),
  )
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const response = await agentProxy.ask('ada', '/', { method })
  expect(response.status).toBe(status)
  expect(await response.text()).toBe('')
  if (method === 'HEAD') expect(response.headers.get('content-length')).toBe('77')
  else expect(response.headers.get('etag')).toBe('"1"')
})

test('a compressed response stays compressed, and redirects are returned to the caller', async () => {
  const packed = Bun.gzipSync('hello '.repeat(1000))
  using agent = startAgentDouble((request) =>
    new URL(request.url).pathname === '/away'
      ? Response.redirect('http://127.0.0.1:1/inside', 302)
      : new Response(packed, { headers: { 'content-encoding': 'gzip' } }),
  )
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const response = await agentProxy.ask('ada', '/')
  expect(response.headers.get('content-encoding')).toBe('gzip')
  expect(await response.text()).toBe('hello '.repeat(1000))
  const redirect = await agentProxy.ask('ada', '/away')
  expect([redirect.status, redirect.headers.get('location')]).toEqual([302, 'http://127.0.0.1:1/inside'])
})

test('the dashboard’s cookies are removed, the agent’s own are forwarded', async () => {
  using agent = startAgentDouble(mirror)
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const ask = async (cookie: string) =>
    Reported.parse(await (await agentProxy.ask('ada', '/', { headers: { cookie } })).json())
  expect((await ask('service-session=secret')).cookie).toBeUndefined()
  const mixed =
    'a=1; service-session=secret; __Host-service-sign-in=secret; service-two-factor=secret; b=service-session'
  expect((await ask(mixed)).cookie).toBe('a=1; b=service-session')
})

test('forged forwarding headers and hop-by-hop headers are dropped', async () => {
  using agent = startAgentDouble(mirror)
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const response = await agentProxy.ask('ada', '/', {
    headers: {
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-proto': 'https',
      'x-forwarded-user': 'root',
      'x-real-ip': '203.0.113.9',
      forwarded: 'for=203.0.113.9',
      te: 'trailers',
      'proxy-authorization': 'Basic secret',
      connection: 'x-private',
      'x-private': 'one hop only',
    },
  })
  const headers = Reported.parse(await response.json())
  expect(headers).toMatchObject({
    host: 'ada.agents.localhost',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'ada.agents.localhost',
    'x-forwarded-proto': 'http',
  })
  for (const name of ['x-forwarded-user', 'x-real-ip', 'forwarded', 'te', 'proxy-authorization', 'x-private']) {
    expect(headers[name]).toBeUndefined()
  }
})

test('address and https of a trusted proxy are forwarded', async () => {
  using agent = startAgentDouble(mirror)
  await using agentProxy = await openAgentProxy({ trustedProxies: ['127.0.0.1'] })
  await agentProxy.add('ada', agent.port)
  const response = await agentProxy.ask('ada', '/', {
    headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.9', 'x-forwarded-proto': 'https' },
  })
  expect(await response.json()).toMatchObject({ 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' })
})

test('the agent proxy sends no forwarding headers to OpenClaw, which refuses unknown proxies', async () => {
  using agent = startAgentDouble(mirror)
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port, 'running', 'openclaw')
  const response = await agentProxy.ask('ada', '/', {
    headers: { 'x-forwarded-for': '203.0.113.9', forwarded: 'for=1.2.3.4' },
  })
  const headers = Reported.parse(await response.json())
  expect(headers.host).toBe('ada.agents.localhost')
  expect(Object.keys(headers).filter((name) => name.includes('forwarded'))).toEqual([])
})

test('an agent’s cookies are limited to its own host, and it cannot clear the site’s', async () => {
  using agent = startAgentDouble(() => {
    const headers = new Headers({ 'clear-site-data': '"cookies"' })
    headers.append('set-cookie', 'service-session=planted; Domain=localhost; Path=/; HttpOnly')
    headers.append('set-cookie', 'own=1; domain = .AGENTS.localhost ; SameSite=Lax')
    return new Response('ok', { headers })
  })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const { headers } = await agentProxy.ask('ada', '/')
  expect(headers.getSetCookie()).toEqual(['service-session=planted; Path=/; HttpOnly', 'own=1; SameSite=Lax'])
  expect(headers.get('clear-site-data')).toBeNull()
})

test('hosts: any case, with or without port or final dot; unknown agents get 404, the domain the dashboard, other hosts 421', async () => {
  using agent = startAgentDouble(() => new Response('agent'))
  await using agentProxy = await openAgentProxy({ domain: 'Example.com' })
  await agentProxy.add('ada', agent.port)
  const ask = async (host: string) => {
    const response = await fetch(`${agentProxy.web}/api/health`, { headers: { host } })
    return [response.status, (await response.text()).slice(0, 30)]
  }
  for (const host of ['ada.agents.example.com', 'ADA.Agents.Example.COM:3000', 'ada.agents.example.com.:80']) {
    expect(await ask(host)).toEqual([200, 'agent'])
  }
  const strange = ['bo', 'a.ada', '', '-ada', 'ada_', 'x'.repeat(42), '127.0.0.1', 'xn--a']
  for (const name of strange) {
    expect(await ask(`${name}.agents.example.com`)).toEqual([404, '{"error":"Agent not found"}'])
  }
  expect(await ask('example.com')).toEqual([200, expect.stringContaining('"status":"ok"')])
  const others = ['', 'ada.', 'adaX', '%61da.', "ada'--."].map((name) => `${name}agents.example.com`)
  for (const host of [others[0] ?? '', `${others[1]}.evil.com`, ...others.slice(2)]) {
    expect(await ask(host)).toEqual([421, '{"error":"Misdirected request"'])
  }
})

test.each(['stopped', 'provisioning', 'pending', 'error'] as const)('503 when the agent is %s', async (status) => {
  using agent = startAgentDouble(() => new Response('agent'))
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port, status)
  const response = await agentProxy.ask('ada', '/')
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ error: 'Agent is not running' })
  await agentProxy.setStatus('ada', 'running')
  expect((await agentProxy.ask('ada', '/')).status).toBe(200)
})

test('502 when the agent does not listen or disconnects', async () => {
  using listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: (socket) => void socket.end() } })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('rude', listener.port)
  await agentProxy.add('gone', 1)
  for (const id of ['rude', 'gone']) {
    for (const init of [{}, { method: 'POST', body: 'x'.repeat(100_000) }]) {
      const response = await agentProxy.ask(id, '/', init)
      expect(response.status).toBe(502)
      expect(await response.json()).toEqual({ error: 'The agent is not reachable' })
    }
  }
})

test('a request body is forwarded while it is still being sent', async () => {
  const received: string[] = []
  using agent = startAgentDouble(async (request) => {
    for await (const chunk of request.body ?? []) received.push(Buffer.from(chunk).toString())
    return new Response(received.join(''))
  })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const answer = agentProxy.ask('ada', '/', { method: 'POST', body: readable })
  await writer.write(Buffer.from('first '))
  await until('the first part at the agent', () => received[0] === 'first ')
  await writer.write(Buffer.from('second'))
  await writer.close()
  expect(await (await answer).text()).toBe('first second')
})

test('a response is forwarded while it is still being sent', async () => {
  const more = Promise.withResolvers<void>()
  using agent = startAgentDouble(
    () =>
      new Response(
        new ReadableStream({
          async start(controller) {
            controller.enqueue(Buffer.from('data: 1\n\n'))
            await more.promise
            controller.enqueue(Buffer.from('data: 2\n\n'))
            controller.close()
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  )
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const response = await agentProxy.ask('ada', '/')
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const reader = response.body?.getReader()
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 1\n\n')
  more.resolve()
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 2\n\n')
  expect((await reader?.read())?.done).toBe(true)
})

test('8 MB requests and 64 MB responses pass completely; larger ones are rejected', async () => {
  const down = Buffer.alloc(64 * 1024 * 1024, 'stead')
  using agent = startAgentDouble(async (request) =>
    request.method === 'GET'
      ? new Response(down)
      : new Response(Bun.CryptoHasher.hash('sha256', await request.arrayBuffer(), 'hex')),
  )
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const up = Buffer.alloc(8 * 1024 * 1024, 'agent')
  const reported = await (await agentProxy.ask('ada', '/', { method: 'POST', body: up })).text()
  expect(reported).toBe(Bun.CryptoHasher.hash('sha256', up, 'hex'))
  const got = await (await agentProxy.ask('ada', '/')).arrayBuffer()
  expect(Bun.CryptoHasher.hash('sha256', got, 'hex')).toBe(Bun.CryptoHasher.hash('sha256', down, 'hex'))
  expect((await agentProxy.ask('ada', '/', { method: 'POST', body: Buffer.alloc(9 * 1024 * 1024) })).status).toBe(413)
})

test('a response pauses when its caller does not read, and ends when the caller disconnects', async () => {
  let producedBytes = 0
  const ended = Promise.withResolvers<void>()
  using agent = startAgentDouble(
    () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            await new Promise(setImmediate)
            producedBytes += 65_536
            controller.enqueue(new Uint8Array(65_536))
          },
          cancel: () => ended.resolve(),
        }),
      ),
  )
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: agentProxy.listeners.ports.web,
    socket: { data: (self) => void self.pause() },
  })
  socket.write('GET / HTTP/1.1\r\nHost: ada.agents.localhost\r\n\r\n')
  await until('a first piece', () => producedBytes > 0)
  let before = -1
  await until('the agent to wait', async () => {
    const same = producedBytes === before
    before = producedBytes
    await Bun.sleep(200)
    return same
  })
  expect(producedBytes).toBeLessThan(64 * 1024 * 1024)
  socket.terminate()
  await ended.promise
})

test('a response is aborted when the agent disconnects during it, so no client takes it for complete', async () => {
  using agent = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nhalf')
        socket.end()
      },
    },
  })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const answer = agentProxy.ask('ada', '/').then((response) => response.text())
  await expect(answer).rejects.toThrow()
  await answer.catch(() => undefined)
})

test('a request is aborted at the agent when the caller disconnects before the response', async () => {
  const asked = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<void>()
  using agent = startAgentDouble((request) => {
    request.signal.addEventListener('abort', () => aborted.resolve())
    asked.resolve()
    return aborted.promise.then(() => new Response('late'))
  })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const leaving = new AbortController()
  const response = agentProxy.ask('ada', '/', { signal: leaving.signal })
  await asked.promise
  leaving.abort()
  await expect(response).rejects.toThrow()
  await aborted.promise
})

test('a caller who disconnects during a body causes no warning in the log', async () => {
  let arrived = 0
  using agent = startAgentDouble(async (request) => {
    arrived += 1
    return new Response(await request.text().catch(() => 'cut off'))
  })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const framings = ['Content-Length: 400000\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\n61a80\r\n']
  for (const [index, framing] of framings.entries()) {
    const connection = await openRaw(agentProxy.web)
    await connection.write(`POST / HTTP/1.1\r\nHost: ${agentProxy.host('ada')}\r\n${framing}${'x'.repeat(200_000)}`)
    await until('the request at the agent', () => arrived > index)
    connection[Symbol.dispose]()
    await until('the line of the caller', () => agentProxy.logLines.length > index)
  }
  const reported = agentProxy.logLines.map((line) => JSON.parse(line))
  expect(reported.map(({ level, msg }) => [level, msg])).toEqual(
    framings.map(() => [30, 'the caller left before the answer']),
  )
})

test('408 when a body arrives byte by byte, and both connections are closed', async () => {
  const aborted = Promise.withResolvers<void>()
  using agent = startAgentDouble(async (request) => {
    request.signal.addEventListener('abort', () => aborted.resolve())
    return new Response(await request.text().catch(() => 'cut off'))
  })
  await using agentProxy = await openAgentProxy({ timeouts: { connectMs: 5000, bodyMs: 300, answerMs: 60_000 } })
  await agentProxy.add('ada', agent.port)
  using connection = await openRaw(agentProxy.web)
  await connection.write('POST / HTTP/1.1\r\nHost: ada.agents.localhost\r\nContent-Length: 1000\r\n\r\n')
  const drip = setInterval(() => void connection.write('x'), 20)
  const { status, body } = await connection.answer().finally(() => clearInterval(drip))
  expect([status, JSON.parse(body)]).toEqual([408, { error: 'Request body took too long' }])
  await until('the end of the connection', connection.isOver)
  await aborted.promise
  const quick = await agentProxy.ask('ada', '/', { method: 'POST', body: 'x'.repeat(100_000) })
  expect((await quick.text()).length).toBe(100_000)
})

test('503 with Retry-After when 60 large bodies for an agent that does not read exceed the memory limit', async () => {
  await using installation = await openAgentProxy()
  const deaf = createServer((socket) => socket.pause().on('error', () => undefined))
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
  const address = deaf.address()
  await installation.add('deaf-1', typeof address === 'object' && address ? address.port : 0)
  const leave = new AbortController()
  const body = new Uint8Array(8 * 1024 * 1024)
  const answers = Array.from({ length: 60 }, () =>
    installation.ask('deaf-1', '/up', { method: 'POST', body, signal: leave.signal }).then(
      ({ status, headers }) => [status, headers.get('retry-after')],
      () => null,
    ),
  )
  const refused: unknown[] = []
  for (const answer of answers) void answer.then((reported) => reported && refused.push(reported))
  // Each address may have eight requests, so 52 of 60 are rejected.
  await until('52 rejected requests', () => refused.length >= 52)
  expect(new Set(refused.map(String))).toEqual(new Set(['503,1']))
  expect(installation.platform.bodies.bytesUnderWay()).toBe(8 * 1024 * 1024)
  leave.abort()
  await Promise.all(answers)
  await until('the end of all uploads', () => installation.platform.bodies.bytesUnderWay() === 0)
  deaf.close()
})

test('300 open streams of agents leave enough connections for the platform’s own calls', async () => {
  let open = 0
  using agent = startAgentDouble(() => {
    open += 1
    const body = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('data: 1\n\n')) })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  await using model = startPlatformDouble2()
  const sockets = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const socket = await Bun.connect({
        hostname: '127.0.0.1',
        port: agentProxy.listeners.ports.web,
        socket: { data: () => undefined },
      })
      socket.write('GET / HTTP/1.1\r\nHost: ada.agents.localhost\r\nAccept: text/event-stream\r\n\r\n')
      return socket
    }),
  )
  await until('300 streams', () => open === 300)
  expect((await fetch(`${model.url}/anything`, { signal: AbortSignal.timeout(60_000) })).status).toBe(404)
  for (const socket of sockets) socket.terminate()
})

test('a stop ends open streams at once', async () => {
  using agent = startAgentDouble(
    () =>
      new Response(new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('data: 1\n\n')) }), {
        headers: { 'content-type': 'text/event-stream' },
      }),
  )
  const agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const response = await agentProxy.ask('ada', '/', { headers: { accept: 'text/event-stream' } })
  const body = response.text().catch(() => 'broken')
  const startedAt = performance.now()
  await agentProxy.listeners.stop()
  await body
  expect(performance.now() - startedAt).toBeLessThan(atMostMs(5000))
})

function startPlatformDouble2() {
  const double = startPlatformDouble()
  return { url: double.url, [Symbol.asyncDispose]: () => double.stop() }
}

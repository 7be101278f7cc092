import { afterEach, describe, expect, jest, test } from 'bun:test'
import { connect } from 'node:net'
import { testApp } from '../../../tests/harness/http.ts'
import type { Principal } from '../env.ts'
import { createLiveStreams, type EventStream, eventStream, liveStream } from './sse.ts'

afterEach(() => {
  jest.useRealTimers()
})

test('events arrive in order, as JSON, and the stream ends with its work', async () => {
  const { request } = streaming(async (stream) => {
    await stream.send('status', { step: 'queued', text: 'two\nlines' })
    await stream.write('[DONE]')
    await stream.send('end', null)
  })
  const response = await request('/')
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  expect(response.headers.get('x-accel-buffering')).toBe('no')
  expect(await response.text()).toBe(
    'event: status\ndata: {"step":"queued","text":"two\\nlines"}\n\ndata: [DONE]\n\nevent: end\ndata: null\n\n',
  )
})

test('the connection stays open longer than the server’s idle timeout', async () => {
  const kept: Request[] = []
  const { request } = streaming(async () => undefined)
  const response = await request('/', {}, { keepOpen: (each) => void kept.push(each) })
  await response.text()
  expect(kept.map(({ url }) => new URL(url).pathname)).toEqual(['/'])
})

test('a comment is sent at least every ten seconds when there are no events', async () => {
  jest.useFakeTimers()
  const finish = Promise.withResolvers<void>()
  const { request } = streaming(() => finish.promise)
  const reader = readerOf(await request('/'))
  for (let beat = 0; beat < 3; beat++) {
    const text = reader.read()
    jest.advanceTimersByTime(9000)
    expect(await text).toStartWith(': keep-alive\n\n')
  }
  finish.resolve()
})

describe('when the client disconnects', () => {
  test('`signal` aborts, over a real socket, and no failure is logged', async () => {
    const aborted = Promise.withResolvers<string>()
    const { listen, lines } = streaming(async (stream) => {
      await stream.send('hello', {})
      await new Promise<void>((resolve) => stream.signal.addEventListener('abort', () => resolve()))
      aborted.resolve('aborted')
      throw new Error('the work gives up because nobody listens')
    })
    await using server = listen()
    const client = new AbortController()
    const response = await fetch(server.url, { signal: client.signal })
    expect(await readerOf(response).read()).toContain('hello')
    client.abort()
    expect(await aborted.promise).toBe('aborted')
    expect(lines.filter(({ level }) => level === 50)).toEqual([])
  })

  test('the heartbeat ends with the work', async () => {
    jest.useFakeTimers()
    const { request } = streaming(async () => undefined)
    await (await request('/')).text()
    expect(jest.getTimerCount()).toBe(0)
  })
})

test('a failure of the work is logged, and the client gets only a general error', async () => {
  const { request, lines } = streaming(async (stream) => {
    await stream.send('hello', {})
    throw new Error('SQLITE_BUSY in /srv/stead')
  })
  const text = await (await request('/')).text()
  expect(text).toEndWith('event: error\ndata: {"error":"Internal error"}\n\n')
  expect(text).not.toContain('SQLITE')
  expect(lines.find(({ level }) => level === 50)).toMatchObject({ path: '/', error: 'SQLITE_BUSY in /srv/stead' })
})

function streaming(run: (stream: EventStream) => Promise<void>) {
  const app: ReturnType<typeof testApp> = testApp((routes) => routes.get('/', (c) => eventStream(c, app.log, run)))
  return app
}

function readerOf(response: Response): { read(): Promise<string> } {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  return { read: async () => decoder.decode((await reader?.read())?.value) }
}

describe('live streams', () => {
  const ADA: Principal = {
    kind: 'user',
    user: { id: 'usr_ada', email: 'ada@example.com', name: 'Ada', isAdmin: false, plan: 'free', subscriptionId: null },
  }

  function live(run: (stream: EventStream) => Promise<void>, principal = ADA) {
    const liveStreams = createLiveStreams()
    const app: ReturnType<typeof testApp> = testApp((routes) => {
      routes.get('/', (c) => liveStream(c, { log: app.log, liveStreams }, principal, run))
    })
    return { ...app, liveStreams }
  }

  const untilAborted = ({ signal }: EventStream) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))

  test('send ids of events when they are given', async () => {
    const { request } = live(async ({ send }) => {
      await send('line', { a: 1 })
      await send('line', { a: 2 }, 7)
    })
    expect(await (await request('/')).text()).toBe(
      'event: line\ndata: {"a":1}\n\nevent: line\ndata: {"a":2}\nid: 7\n\n',
    )
  })

  test('end when the server stops, also those opened during the stop', async () => {
    const { request } = live(untilAborted)
    const stopping = new AbortController()
    const response = await request('/', {}, { stopping: stopping.signal })
    stopping.abort()
    expect(await response.text()).toBe('')
  })

  test('end after an hour', async () => {
    jest.useFakeTimers()
    const { request } = live(untilAborted)
    const text = (await request('/')).text()
    for (let minute = 0; minute < 61; minute += 1) jest.advanceTimersByTime(60_000)
    expect(await text).toEndWith(': keep-alive\n\n')
  })

  test('are limited to ten per user and two hundred per operator, and every end frees a slot', async () => {
    for (const [principal, limit] of [
      [ADA, 10],
      [{ kind: 'operator' }, 200],
    ] as const) {
      const { request } = live(untilAborted, principal)
      for (let round = 0; round < 3; round += 1) {
        const open = await Promise.all(Array.from({ length: limit }, () => request('/')))
        expect(open.map(({ status }) => status)).toEqual(open.map(() => 200))
        const refused = await request('/')
        expect(refused.status).toBe(429)
        expect(await refused.json()).toEqual({ error: 'Too many open streams', current: limit, limit })
        await Promise.all(open.map((response) => response.body?.cancel()))
      }
    }
    const failing = live(() => Promise.reject(new Error('broken')))
    for (let count = 0; count < 30; count += 1) expect(await (await failing.request('/')).text()).toContain('error')
  })

  test('end when the client does not read, and only little is written for it', async () => {
    let sent = 0
    const dropped = Promise.withResolvers<void>()
    const { handle } = live(async ({ send, signal }) => {
      signal.addEventListener('abort', () => dropped.resolve())
      for (; !signal.aborted; sent += 1) await send('line', 'x'.repeat(10_000))
    })
    const asked: number[] = []
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: (request, { timeout }) =>
        handle(request, {
          // Replaces the requested time by one second to keep the test short.
          keepOpen: (open, seconds = 0) => {
            asked.push(seconds)
            timeout.call(server, open, 1)
          },
        }),
    })
    const socket = connect(server.port ?? 0, '127.0.0.1').pause()
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await dropped.promise
    expect(asked).toEqual([30])
    expect(sent).toBeLessThan(3000)
    socket.destroy()
    await server.stop(true)
  }, 300_000)
})

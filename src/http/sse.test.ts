import { afterEach, describe, expect, jest, test } from 'bun:test'
import { testApp } from '../../tests/harness/http.ts'
import { type EventStream, eventStream } from './sse.ts'

afterEach(() => {
  jest.useRealTimers()
})

test('events arrive in order, as JSON, and the stream ends when its work does', async () => {
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

test('the connection is kept open past the server’s idle timeout', async () => {
  const kept: Request[] = []
  const { request } = streaming(async () => undefined)
  const response = await request('/', {}, { keepOpen: (each) => void kept.push(each) })
  await response.text()
  expect(kept.map(({ url }) => new URL(url).pathname)).toEqual(['/'])
})

test('silence is filled with a comment before ten seconds have passed, and again', async () => {
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

describe('when the client goes', () => {
  test('the work is told, over a real socket, and nothing is logged as a failure', async () => {
    const told = Promise.withResolvers<string>()
    const { listen, lines } = streaming(async (stream) => {
      await stream.send('hello', {})
      await new Promise<void>((resolve) => stream.signal.addEventListener('abort', () => resolve()))
      told.resolve('aborted')
      throw new Error('the work gives up because nobody listens')
    })
    await using server = listen()
    const client = new AbortController()
    const response = await fetch(server.url, { signal: client.signal })
    expect(await readerOf(response).read()).toContain('hello')
    client.abort()
    expect(await told.promise).toBe('aborted')
    expect(lines.filter(({ level }) => level === 50)).toEqual([])
  })

  test('the heartbeat ends with the work', async () => {
    jest.useFakeTimers()
    const { request } = streaming(async () => undefined)
    await (await request('/')).text()
    expect(jest.getTimerCount()).toBe(0)
  })
})

test('work that fails is logged, and the client learns only that it did', async () => {
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

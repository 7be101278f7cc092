import { expect, onTestFinished, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { findFreePorts } from '../../../../tests/harness/ports.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { findHold } from '../../../../tests/harness/speed/loop-hold.ts'
import { measureSlowness } from '../../../../tests/harness/speed/machine-speed.ts'
import { until } from '../../../../tests/harness/until.ts'
import { Feed, FeedList } from './schemas.ts'

const MINUTE_MS = 60_000

/** A configurable source on loopback, and a platform with the feeds `gas` (with a preview) and `tvl` of it. */
function withSource(answer: (request: Request) => Response | Promise<Response>) {
  let answering = answer
  const calls: string[] = []
  const source = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const { pathname, search } = new URL(request.url)
      calls.push(`${pathname}${search}`)
      return answering(request)
    },
  })
  onTestFinished(() => source.stop(true))
  const url = `http://127.0.0.1:${source.port}`
  const feeds = [
    { id: 'gas', url: `${url}/gas?key=hidden-in-the-url`, preview: `${url}/gas/sample`, source: 'Gas Station' },
    { id: 'tvl', url: `${url}/tvl` },
  ]
  const environment = {
    FEEDS: JSON.stringify(feeds),
    SUMMARIZER_ALLOW_PRIVATE: 'true',
    APP_URL: 'https://stead.example',
  }
  const test = testPlatform({ environment })
  return {
    ...test,
    calls,
    source,
    answerWith: (next: typeof answer) => {
      answering = next
    },
    get: (query = '') => test.web.request(`/api/feeds${query}`),
  }
}

const gwei = (value = 7) => Response.json({ gwei: value })

test('GET /api/feeds: 200 with the configured feeds, without the URLs of their sources', async () => {
  const { get, calls } = withSource(() => gwei())
  const response = await get()
  expect(response.status).toBe(200)
  const endpoint = 'https://stead.example/api/feeds?feed'
  expect(FeedList.parse(await response.json())).toEqual({
    feeds: [
      { id: 'gas', endpoint: `${endpoint}=gas`, preview: `${endpoint}=gas&preview=true` },
      { id: 'tvl', endpoint: `${endpoint}=tvl`, preview: null },
    ],
    total: 2,
    docs: 'GET the endpoint of a feed for its data.',
  })
  expect(calls).toEqual([])
})

test('GET /api/feeds: 200 and empty when no feed is configured, 503 for a feed', async () => {
  const { web } = testPlatform()
  const list = await read(FeedList, web.request('/api/feeds'))
  expect(list).toEqual({ feeds: [], total: 0, docs: 'No data feeds are configured: set FEEDS.' })
  const response = await web.request('/api/feeds?feed=gas')
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({
    error: 'No data feeds are configured: set FEEDS',
    code: 'NOT_CONFIGURED',
  })
})

test('GET /api/feeds?feed=: 200 with the data of the source, fetched once in five minutes', async () => {
  const { get, calls, clock, answerWith } = withSource(() => gwei())
  const first = {
    feed: 'gas',
    source: 'Gas Station',
    data: { gwei: 7 },
    fetchedAt: clock.now().toISOString(),
    stale: false,
  }
  expect(await read(Feed, get('?feed=gas'))).toEqual(first)
  answerWith(() => gwei(8))
  clock.advance(5 * MINUTE_MS - 1)
  expect(await read(Feed, get('?feed=gas'))).toEqual(first)
  expect(calls).toEqual(['/gas?key=hidden-in-the-url'])
  clock.advance(1)
  expect(await read(Feed, get('?feed=gas'))).toMatchObject({ data: { gwei: 8 }, fetchedAt: clock.now().toISOString() })
  expect(await read(Feed, get('?feed=tvl'))).toMatchObject({ feed: 'tvl', source: '127.0.0.1', data: { gwei: 8 } })
  expect(calls).toHaveLength(3)
})

test('GET /api/feeds?feed=: 200 with one request to the source for a hundred concurrent ones', async () => {
  const gate = Promise.withResolvers<void>()
  const { get, calls } = withSource(async () => {
    await gate.promise
    return gwei()
  })
  const answers = Array.from({ length: 100 }, () => get('?feed=gas'))
  await until('the request', () => calls.length === 1)
  gate.resolve()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 200))
  expect(calls).toHaveLength(1)
})

test('GET /api/feeds?feed=&preview=true: 200 with the sample; 400 for a feed without one', async () => {
  const { get, calls } = withSource(() => gwei())
  expect(await read(Feed, get('?feed=gas&preview=true'))).toMatchObject({ feed: 'gas', data: { gwei: 7 } })
  expect(calls).toEqual(['/gas/sample'])
  const response = await get('?feed=tvl&preview=true')
  expect([response.status, await response.json()]).toEqual([400, { error: 'This feed has no preview' }])
})

test.each(['nope', '', 'GAS', '__proto__', '../gas'])(
  'GET /api/feeds?feed=%s: 400 with the available feeds',
  async (feed) => {
    const { get, calls } = withSource(() => gwei())
    const response = await get(`?feed=${encodeURIComponent(feed)}`)
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: 'Unknown feed', available: ['gas', 'tvl'] },
    ])
    expect(calls).toEqual([])
  },
)

test.each([401, 404, 429, 500, 503])('GET /api/feeds?feed=: %d when the source responds with it', async (status) => {
  const { get, calls, clock } = withSource(() => new Response('secret words of the source', { status }))
  const response = await get('?feed=gas')
  expect([response.status, await response.json()]).toEqual([status, { error: 'Feed unavailable', status }])
  await get('?feed=gas')
  expect(calls).toHaveLength(1)
  clock.advance(15_000)
  await get('?feed=gas')
  expect(calls).toHaveLength(2)
})

test('GET /api/feeds?feed=: 502 when the source responds with 304', async () => {
  const { get } = withSource(() => new Response(null, { status: 304 }))
  const response = await get('?feed=gas')
  expect([response.status, await response.json()]).toEqual([502, { error: 'Feed unavailable', status: 304 }])
})

test('GET /api/feeds?feed=: 402 with the payment requirements of the source', async () => {
  const { get } = withSource(() => Response.json({ accepts: [{ amount: '1000' }] }, { status: 402 }))
  const response = await get('?feed=gas')
  expect(response.status).toBe(402)
  expect(await response.json()).toEqual({
    status: 'payment_required',
    feed: 'gas',
    challenge: { accepts: [{ amount: '1000' }] },
    hint: 'The source of this feed asks for a payment.',
  })
})

test.each<[string, () => Response, string]>([
  ['a page', () => new Response('<!doctype html>'), 'The source did not answer with JSON'],
  ['nothing', () => new Response(null, { status: 204 }), 'The source did not answer with JSON'],
  ['too much', () => Response.json('x'.repeat(1024 * 1024)), 'The source gave no complete answer'],
])('GET /api/feeds?feed=: 500 when the source sends %s', async (_what, answer, message) => {
  const { get } = withSource(answer)
  const response = await get('?feed=gas')
  expect([response.status, await response.json()]).toEqual([500, { error: 'Feed fetch failed', message }])
})

test('GET /api/feeds?feed=: 500 when the source is unreachable; its address is not in the response or the log', async () => {
  const [port] = await findFreePorts(1)
  const FEEDS = JSON.stringify([{ id: 'gas', url: `http://127.0.0.1:${port}/gas?key=hidden-in-the-url` }])
  const { web, logLines } = testPlatform({ environment: { FEEDS, SUMMARIZER_ALLOW_PRIVATE: 'true' } })
  const response = await web.request('/api/feeds?feed=gas')
  const text = await response.text()
  expect(response.status).toBe(500)
  expect(JSON.parse(text)).toEqual({ error: 'Feed fetch failed', message: 'The source gave no complete answer' })
  expect(logLines.join('\n')).toContain('the source failed')
  expect(`${text}${logLines.join('\n')}`).not.toContain('hidden-in-the-url')
})

test('GET /api/feeds?feed=: 500 as for an unreachable source when the address is private', async () => {
  const calls: string[] = []
  const inside = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      calls.push(request.url)
      return gwei()
    },
  })
  onTestFinished(() => inside.stop(true))
  const FEEDS = JSON.stringify([{ id: 'gas', url: `http://127.0.0.1:${inside.port}/gas` }])
  const response = await testPlatform({ environment: { FEEDS } }).web.request('/api/feeds?feed=gas')
  expect([response.status, await response.json()]).toEqual([
    500,
    { error: 'Feed fetch failed', message: 'The source gave no complete answer' },
  ])
  expect(calls).toEqual([])
})

test('GET /api/feeds?feed=: 200 with the last data, marked as stale, for an hour while the source fails', async () => {
  const { get, clock, answerWith, calls } = withSource(() => gwei())
  const fetchedAt = clock.now().toISOString()
  await get('?feed=gas')
  answerWith(() => new Response('down', { status: 503 }))
  clock.advance(6 * MINUTE_MS)
  expect(await read(Feed, get('?feed=gas'))).toMatchObject({ data: { gwei: 7 }, fetchedAt, stale: true })
  expect(await read(Feed, get('?feed=gas'))).toMatchObject({ stale: true })
  expect(calls).toHaveLength(2)
  clock.advance(60 * MINUTE_MS)
  expect((await get('?feed=gas')).status).toBe(503)
  answerWith(() => gwei(9))
  clock.advance(MINUTE_MS)
  expect(await read(Feed, get('?feed=gas'))).toMatchObject({ data: { gwei: 9 }, stale: false })
})

test('GET /api/feeds?feed=: 500 when the source sends endlessly nested lists, without blocking other requests', async () => {
  const deep = '['.repeat(400_000) + ']'.repeat(400_000)
  const { get, answerWith } = withSource(() => new Response(deep))
  const limitMs = 50 * measureSlowness()
  for (const [feed, status] of [
    ['gas', 200],
    ['tvl', 402],
  ] as const) {
    answerWith(() => new Response(deep, { status }))
    const work = async () => expect((await get(`?feed=${feed}`)).status).toBe(status === 200 ? 500 : 402)
    expect(await findHold(limitMs, work)).toBeLessThan(limitMs)
  }
})

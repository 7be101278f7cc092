import { afterEach, expect, setSystemTime, test } from 'bun:test'
import { testApp } from '../../tests/harness/http.ts'
import { limitRate } from './rate-limit.ts'

const MESSAGE = 'Too many requests, slow down'

afterEach(() => {
  setSystemTime()
})

test('RateLimit-* headers count down the requests of a minute, and no other headers do', async () => {
  setSystemTime(new Date('2026-11-20T12:00:00Z'))
  const { request } = limited(3)
  const responses = [await request('/'), await request('/'), await request('/')]
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(responses.map(({ headers }) => headers.get('ratelimit-remaining'))).toEqual(['2', '1', '0'])
  expect(responses.map(({ headers }) => headers.get('ratelimit-limit'))).toEqual(['3', '3', '3'])
  expect(responses.map(({ headers }) => headers.get('ratelimit-reset'))).toEqual(['60', '60', '60'])
  for (const { headers } of responses) {
    expect([...headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
  }
})

test('429 with the message of the route and the time to wait when the limit is exceeded', async () => {
  setSystemTime(new Date('2026-11-20T12:00:00Z'))
  const { request } = limited(1)
  await request('/')
  setSystemTime(new Date('2026-11-20T12:00:20Z'))
  const response = await request('/')
  expect(response.status).toBe(429)
  expect(await response.json()).toEqual({ error: MESSAGE })
  expect(response.headers.get('ratelimit-remaining')).toBe('0')
  expect(response.headers.get('ratelimit-reset')).toBe('40')
  expect(response.headers.get('retry-after')).toBe('40')
})

test('the count starts again a minute after the first request', async () => {
  setSystemTime(new Date('2026-11-20T12:00:00Z'))
  const { request } = limited(1)
  await request('/')
  setSystemTime(new Date('2026-11-20T12:00:59.999Z'))
  expect((await request('/')).status).toBe(429)
  setSystemTime(new Date('2026-11-20T12:01:00Z'))
  expect((await request('/')).status).toBe(200)
})

test('the count starts again when the clock is set back', async () => {
  setSystemTime(new Date('2026-11-20T12:00:00Z'))
  const { request } = limited(1)
  await request('/')
  setSystemTime(new Date('2026-11-20T11:00:00Z'))
  expect((await request('/')).status).toBe(200)
})

test('each address has its own count; addresses of one IPv6 /64 network share one', async () => {
  const { request } = limited(1)
  const from = async (address: string | null) => (await request('/', {}, { address })).status
  expect(await from('203.0.113.1')).toBe(200)
  expect(await from('203.0.113.1')).toBe(429)
  expect(await from('203.0.113.2')).toBe(200)
  expect(await from('2001:db8:1:2::1')).toBe(200)
  expect(await from('2001:db8:1:2:ffff::9')).toBe(429)
  expect(await from('2001:db8:1:3::1')).toBe(200)
  expect(await from(null)).toBe(200)
  expect(await from(null)).toBe(429)
})

test('routes with their own limits do not count for each other', async () => {
  const { request } = testApp((app) => {
    app.get('/a', limitRate(1, MESSAGE), (c) => c.text('a'))
    app.get('/b', limitRate(1, MESSAGE), (c) => c.text('b'))
  })
  expect((await request('/a')).status).toBe(200)
  expect((await request('/b')).status).toBe(200)
  expect((await request('/a')).status).toBe(429)
})

test('a failed request counts, so that guessing is limited', async () => {
  const { request } = testApp((app) => {
    app.get('/', limitRate(2, MESSAGE), () => {
      throw new Error('wrong password')
    })
  })
  expect([(await request('/')).status, (await request('/')).status, (await request('/')).status]).toEqual([
    500, 500, 429,
  ])
})

test('a custom key replaces the address', async () => {
  const { request } = testApp((app) => {
    app.get(
      '/',
      limitRate(1, MESSAGE, (c) => c.req.header('x-agent') ?? ''),
      (c) => c.text('ok'),
    )
  })
  const from = async (agent: string) => (await request('/', { headers: { 'x-agent': agent } })).status
  expect([await from('a'), await from('a'), await from('b')]).toEqual([200, 429, 200])
})

test.each([
  [[5, 2, 9], '2', '1'],
  [[2, 5, 9], '2', '1'],
  [[9, 5, 2], '2', '1'],
])(
  'the headers describe the limit that resets first when a route has several: %j',
  async (limits, limit, remaining) => {
    const { request } = testApp((app) => {
      for (const each of limits) app.use('/', limitRate(each, `At most ${each}`))
      app.get('/', (c) => c.text('ok'))
    })
    const { headers } = await request('/')
    expect([headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toEqual([limit, remaining])
    await request('/')
    const refused = await request('/')
    expect(await refused.json()).toEqual({ error: 'At most 2' })
    expect(refused.headers.get('ratelimit-limit')).toBe('2')
    expect(refused.headers.get('ratelimit-remaining')).toBe('0')
  },
)

function limited(limit: number) {
  return testApp((app) => app.get('/', limitRate(limit, MESSAGE), (c) => c.text('ok')))
}

test('limitRate keeps the latest 10,000 keys when there are more callers', async () => {
  const { request } = limited(1)
  const statusFor = async (index: number) =>
    (await request('/', {}, { address: `2001:db8:${(index >> 8).toString(16)}:${(index & 255).toString(16)}::1` }))
      .status
  for (let index = 0; index < 30_000; index++) await statusFor(index)
  expect(await statusFor(29_999)).toBe(429)
  expect(await statusFor(0)).toBe(200)
  expect(await statusFor(19_000)).toBe(200)
})

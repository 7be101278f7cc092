import { expect, test } from 'bun:test'
import { INTERNAL_KEY, type TestOptions, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { readEvents } from '../../../../tests/harness/wires/events.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/agents.ts'
import { forgetLogsJob } from './ingest.ts'
import { ActiveLogs, LogEvent, LogHistory } from './schemas.ts'
import { appendLines, countLines, findCursor, MAX_STORED_BYTES, type NewLine } from './store.ts'

const OPERATOR = bearer(INTERNAL_KEY)

/** Creates a platform with Ada's agent, and Eve without one. */
async function withAgent(options: TestOptions = {}) {
  const test = testPlatform(options)
  const { platform, clock } = test
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const kind = { name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  const agent = await write(platform.db, (tx) =>
    insertAgent(platform, tx, { ...kind, id: 'ada-1', ownerId: ada.user.id }),
  )
  const add = (lines: NewLine[]) =>
    write(platform.db, (tx) => {
      const cursor = findCursor(tx, agent.id)
      return appendLines(tx, agent.id, lines, { before: cursor, after: cursor })
    })
  const toLine = (text: string): NewLine => ({ at: clock.now(), stream: 'stdout', text })
  return { ...test, ada, eve, agent, add, say: (...texts: string[]) => add(texts.map(toLine)), toLine }
}

type World = Awaited<ReturnType<typeof withAgent>>

/** Both APIs with the credentials of the agent's owner. */
const API_NAMES = [
  ['web', ({ ada }: World) => ada.cookie],
  ['backend', () => OPERATOR],
] as const

/** A client that collects the stream's events until disposed. */
async function listen(
  world: World,
  api: 'web' | 'backend',
  headers: Record<string, string>,
  agentId = 'ada-1',
  query = '',
) {
  const response = await world[api].request(`/api/logs/${agentId}/stream${query}`, { headers })
  expect(response.status).toBe(200)
  const events: (LogEvent & { id: string | undefined })[] = []
  const reading = (async () => {
    for await (const { event, data, id } of readEvents(response)) {
      expect(event).toBe('line')
      events.push({ ...LogEvent.parse(JSON.parse(data)), id })
    }
  })()
  return {
    events,
    texts: () => events.flatMap((event) => (event.type === 'line' ? [event.text] : [])),
    lastId: () => events.findLast(({ id }) => id !== undefined)?.id ?? '',
    ended: reading,
  }
}

for (const [api, openListener] of API_NAMES) {
  test(`GET /api/logs/:agentId/stream (${api}): 200 with connected, stored lines, new lines and the end, with ids`, async () => {
    const world = await withAgent()
    await world.say('one', 'two\ndata: forged\n\nevent: line')
    const client = await listen(world, api, openListener(world))
    await until('the stored lines', () => client.texts().length === 2)
    await world.say('three')
    await world.add([{ at: world.clock.now(), stream: 'exit', text: '137' }])
    await world.add([{ at: world.clock.now(), stream: 'exit', text: '' }])
    await until('the ends', () => client.events.length === 6)
    expect(client.events.map(({ id: _id, ...event }) => event)).toEqual([
      { type: 'connected', agentId: 'ada-1' },
      { type: 'line', text: 'one' },
      { type: 'line', text: 'two\ndata: forged\n\nevent: line' },
      { type: 'line', text: 'three' },
      { type: 'exit', code: 137 },
      { type: 'exit', code: null },
    ])
    const ids = client.events.map(({ id }) => id)
    expect(ids[0]).toBeUndefined()
    expect(ids.slice(1).map(Number)).toEqual([...ids.slice(1).map(Number)].sort((a, b) => a - b))
    expect(new Set(ids.slice(1)).size).toBe(5)
    await world[api].request('/api/logs/ada-1/stop', { method: 'POST', headers: openListener(world) })
    await client.ended
  })

  test(`GET /api/logs/:agentId/stream (${api}): 200 continues after Last-Event-ID, or starts with the last 500 lines`, async () => {
    const world = await withAgent()
    await world.say(...Array.from({ length: 700 }, (_, index) => `line ${index + 1}`))
    const first = await listen(world, api, openListener(world))
    await until('the buffered lines', () => first.texts().length === 500)
    expect([first.texts()[0], first.texts().at(-1)]).toEqual(['line 201', 'line 700'])
    const at = first.events[250]?.id ?? ''
    const second = await listen(world, api, { ...openListener(world), 'last-event-id': at })
    await until('the rest', () => second.texts().length === 250)
    expect(second.texts()).toEqual(first.texts().slice(250))
    const behind = await listen(world, api, openListener(world), 'ada-1', `?after=${at}`)
    await until('the rest once more', () => behind.texts().length === 250)
    for (const nonsense of ['x', '-1', '1e3', '99999999999']) {
      const third = await listen(world, api, { ...openListener(world), 'last-event-id': nonsense })
      await until('the buffered lines again', () => third.texts().length === 500)
    }
    await world[api].request('/api/logs/ada-1/stop', { method: 'POST', headers: openListener(world) })
    await first.ended
    await second.ended
  })

  test(`GET /api/logs/:agentId/stream (${api}): 200 with time and source of each line when detail is set; 400 when it is invalid`, async () => {
    const world = await withAgent()
    await world.say('one')
    await world.add([{ at: world.clock.now(), stream: 'exit', text: '1' }])
    const client = await listen(world, api, openListener(world), 'ada-1', '?detail=true')
    await until('both lines', () => client.events.length === 3)
    const at = world.clock.now().toISOString()
    expect(client.events.slice(1).map(({ id: _id, ...event }) => event)).toEqual([
      { type: 'line', text: 'one', at, stream: 'stdout' },
      { type: 'exit', code: 1, at },
    ])
    await world[api].request('/api/logs/ada-1/stop', { method: 'POST', headers: openListener(world) })
    await client.ended
    const refused = await world[api].request('/api/logs/ada-1/stream?detail=much', { headers: openListener(world) })
    expect([refused.status, await refused.json()]).toEqual([400, { error: 'detail must be true or false' }])
  })

  test(`GET /api/logs/:agentId/history (${api}): 200 with the last 500 lines and the number of followers`, async () => {
    const world = await withAgent()
    const get = (query = '') => world[api].request(`/api/logs/ada-1/history${query}`, { headers: openListener(world) })
    expect(await (await get()).json()).toEqual({ agentId: 'ada-1', lines: [], streaming: false, clients: 0 })
    await world.say(...Array.from({ length: 501 }, (_, index) => `line ${index + 1}`))
    await world.add([{ at: world.clock.now(), stream: 'exit', text: '1' }])
    const client = await listen(world, api, openListener(world))
    const history = await read(LogHistory, get())
    expect(history).toMatchObject({ streaming: true, clients: 1 })
    expect([history.lines.length, history.lines[0], history.lines.at(-1)]).toEqual([500, 'line 2', 'line 501'])
    await world[api].request('/api/logs/ada-1/stop', { method: 'POST', headers: openListener(world) })
    await client.ended
  })

  test(`GET /api/logs/:agentId/history (${api}): 200 with matching lines in any case, page by page`, async () => {
    const world = await withAgent()
    await world.say(...Array.from({ length: 90 }, (_, index) => (index % 3 === 0 ? `Error ${index}` : `fine ${index}`)))
    const get = (query: string) =>
      read(LogHistory, world[api].request(`/api/logs/ada-1/history?${query}`, { headers: openListener(world) }))
    const page = await get('q=eRRor&limit=20')
    expect(page.lines).toEqual(Array.from({ length: 20 }, (_, index) => `Error ${(index + 10) * 3}`))
    expect(page.entries?.[0]).toEqual({
      id: page.nextBefore ?? 0,
      at: world.clock.now().toISOString(),
      stream: 'stdout',
      text: 'Error 30',
    })
    const rest = await get(`q=eRRor&limit=20&before=${page.nextBefore}`)
    expect(rest.lines).toEqual(Array.from({ length: 10 }, (_, index) => `Error ${index * 3}`))
    expect(rest.nextBefore).toBeNull()
    expect((await get('q=%25')).lines).toEqual([])
    expect((await get('limit=2')).lines).toEqual(['fine 88', 'fine 89'])
  })

  test.each([
    ['limit=0', 'limit must be a whole number from 1 to 1000'],
    ['limit=1001', 'limit must be a whole number from 1 to 1000'],
    ['limit=1e9', 'limit must be a whole number from 1 to 1000'],
    ['before=-1', 'before must be the id of a line'],
    ['before=x', 'before must be the id of a line'],
    [`q=${'x'.repeat(201)}`, 'q is too long'],
  ])(`GET /api/logs/:agentId/history?%s (${api}): 400`, async (query, error) => {
    const world = await withAgent()
    const response = await world[api].request(`/api/logs/ada-1/history?${query}`, { headers: openListener(world) })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error })
  })

  test(`POST /api/logs/:agentId/stop (${api}): 200 ends all streams of this agent; the log continues`, async () => {
    const world = await withAgent()
    const kind = { name: 'Bo', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
    await write(world.platform.db, (tx) =>
      insertAgent(world.platform, tx, { ...kind, id: 'bo-1', ownerId: world.ada.user.id }),
    )
    const [one, two, other] = [
      await listen(world, 'web', world.ada.cookie),
      await listen(world, 'backend', OPERATOR),
      await listen(world, 'web', world.ada.cookie, 'bo-1'),
    ]
    const response = await world[api].request('/api/logs/ada-1/stop', { method: 'POST', headers: openListener(world) })
    expect(await response.json()).toEqual({ success: true })
    await Promise.all([one.ended, two.ended])
    await world.say('afterwards')
    expect(countLines(world.platform.db, 'ada-1')).toBe(1)
    const active = await read(ActiveLogs, world[api].request('/api/logs/active', { headers: openListener(world) }))
    expect(active).toEqual({ streams: [{ agentId: 'bo-1', clients: 1, lines: 0 }] })
    await world.web.request('/api/logs/bo-1/stop', { method: 'POST', headers: world.ada.cookie })
    await other.ended
  })

  test(`GET /api/logs/active (${api}): 200 with a stream until 30 s after its last client left`, async () => {
    const world = await withAgent()
    await world.say('one')
    const get = () => read(ActiveLogs, world[api].request('/api/logs/active', { headers: openListener(world) }))
    expect(await get()).toEqual({ streams: [] })
    const response = await world[api].request('/api/logs/ada-1/stream', { headers: openListener(world) })
    expect(await get()).toEqual({ streams: [{ agentId: 'ada-1', clients: 1, lines: 1 }] })
    await response.body?.cancel()
    await until('the end of the stream', async () => (await get()).streams[0]?.clients === 0)
    world.clock.advance(29_000)
    expect(await get()).toEqual({ streams: [{ agentId: 'ada-1', clients: 0, lines: 1 }] })
    world.clock.advance(2000)
    expect(await get()).toEqual({ streams: [] })
  })
}

test.each([
  ['GET', 'stream'],
  ['GET', 'history'],
  ['POST', 'stop'],
])(
  '%s /api/logs/:agentId/%s: 404 for a stranger and a missing agent, 401 without a session',
  async (method, action) => {
    const world = await withAgent()
    const path = (id: string) => `/api/logs/${id}/${action}`
    for (const id of ['ada-1', 'missing-1']) {
      const response = await world.web.request(path(id), { method, headers: world.eve.cookie })
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({ error: 'Agent not found' })
      const asEve = { ...OPERATOR, 'x-user-id': world.eve.user.id }
      expect((await world.backend.request(path(id), { method, headers: asEve })).status).toBe(404)
    }
    expect((await world.backend.request(path('missing-1'), { method, headers: OPERATOR })).status).toBe(404)
    expect((await world.web.request(path('ada-1'), { method })).status).toBe(401)
    expect((await world.backend.request(path('ada-1'), { method })).status).toBe(401)
    expect((await world.backend.request(path('ada-1'), { method, headers: bearer('wrong') })).status).toBe(403)
  },
)

test('GET /api/logs/active: 200 with own agents only, 401 without a session', async () => {
  const world = await withAgent()
  const client = await listen(world, 'web', world.ada.cookie)
  const seen = await read(ActiveLogs, world.web.request('/api/logs/active', { headers: world.eve.cookie }))
  expect(seen).toEqual({ streams: [] })
  expect((await world.web.request('/api/logs/active')).status).toBe(401)
  expect((await world.backend.request('/api/logs/active')).status).toBe(401)
  await world.web.request('/api/logs/ada-1/stop', { method: 'POST', headers: world.ada.cookie })
  await client.ended
})

test('GET /api/logs/:agentId/stream: 429 when ten streams are open, until one ends', async () => {
  const world = await withAgent()
  const responses = await Promise.all(
    Array.from({ length: 11 }, () => world.web.request('/api/logs/ada-1/stream', { headers: world.ada.cookie })),
  )
  expect(responses.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 200), 429])
  expect(await responses[10]?.json()).toEqual({ error: 'Too many open streams', current: 10, limit: 10 })
  expect((await world.backend.request('/api/logs/ada-1/stream', { headers: OPERATOR })).status).toBe(200)
  await responses[0]?.body?.cancel()
  await until('room', async () => {
    const again = await world.web.request('/api/logs/ada-1/stream', { headers: world.ada.cookie })
    return again.status === 200
  })
  await world.web.request('/api/logs/ada-1/stop', { method: 'POST', headers: world.ada.cookie })
})

test('appendLines deletes the oldest lines beyond the limit', async () => {
  const { platform, add, toLine } = await withAgent()
  const text = 'x'.repeat(1000)
  for (let batch = 0; batch < 30; batch += 1) {
    await add(Array.from({ length: 1000 }, (_, index) => toLine(`${batch * 1000 + index} ${text}`)))
  }
  const lines = countLines(platform.db, 'ada-1')
  expect(lines * 1070).toBeLessThanOrEqual(MAX_STORED_BYTES)
  expect(lines * 1070).toBeGreaterThan(MAX_STORED_BYTES * 0.85)
})

test('forgetLogsJob deletes lines older than 14 days', async () => {
  const { platform, clock, add, toLine } = await withAgent()
  await add(Array.from({ length: 2500 }, (_, index) => toLine(`old ${index}`)))
  clock.advance(13 * 86_400_000)
  await add([toLine('new')])
  const forget = () => forgetLogsJob(platform).run(new AbortController().signal)
  await forget()
  expect(countLines(platform.db, 'ada-1')).toBe(2501)
  clock.advance(86_400_001)
  await forget()
  expect(countLines(platform.db, 'ada-1')).toBe(1)
})

test('appendLines stores nothing when the cursor has moved', async () => {
  const { platform, toLine } = await withAgent()
  const store = (before: string | null, after: string) =>
    write(platform.db, (tx) => appendLines(tx, 'ada-1', [toLine(after)], { before, after }))
  expect(await store(null, 'a.1')).toBe(true)
  expect(await store(null, 'a.1')).toBe(false)
  expect(await store('a.1', 'a.2')).toBe(true)
  expect(countLines(platform.db, 'ada-1')).toBe(2)
})

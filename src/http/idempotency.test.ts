import { expect, test } from 'bun:test'
import { Hono } from 'hono'
import { testClock, testPlatform } from '../../tests/harness/platform.ts'
import { json } from '../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../tests/harness/rows/dump.ts'
import { until } from '../../tests/harness/until.ts'
import { AppError } from '../core/errors.ts'
import { createLog } from '../core/log.ts'
import type { Db } from '../db/open.ts'
import { write } from '../db/write.ts'
import { boundBodies } from './bodies/body.ts'
import { createBodies } from './bodies/unfinished.ts'
import type { Once, SignedInUser, WebEnv } from './env.ts'
import { errorHandler } from './errors.ts'
import { createIdempotency } from './idempotency.ts'

const DAY_MS = 86_400_000

type Answering = (run: number, once: Once, db: Db) => Response | Promise<Response>

/** An app with one route that counts how often it was run; `answer` says what it does. */
function openTestApp(answer: Answering = (run) => Response.json({ run }, { status: 201 })) {
  const { platform } = testPlatform()
  const clock = testClock()
  const deps = { db: platform.db, clock, sealer: platform.sealer }
  let runs = 0
  const appOf = (idempotency: ReturnType<typeof createIdempotency>) => {
    const app = new Hono<WebEnv>()
    app.onError(errorHandler(createLog('silent')))
    app.use(boundBodies(createBodies()))
    app.use(async (c, next) => {
      c.header('x-request-id', crypto.randomUUID())
      c.set('user', toUser(c.req.header('x-test-user') ?? 'ada'))
      await next()
    })
    app.post('/pay', idempotency.forUser, (c) => answer(++runs, c.var.once, platform.db))
    app.post('/other', idempotency.forUser, (c) => answer(++runs, c.var.once, platform.db))
    return app
  }
  const idempotency = createIdempotency(deps)
  const app = appOf(idempotency)
  const ask = (key: string | null, body: unknown = { amount: 1 }, { user = 'ada', path = '/pay', on = app } = {}) =>
    on.request(path, json('POST', body, { ...(key !== null && { 'idempotency-key': key }), 'x-test-user': user }), {
      api: 'web',
      address: null,
    })
  return {
    platform,
    clock,
    idempotency,
    ask,
    runs: () => runs,
    /** The same app after its process was killed, or with less patience. */
    again: (waitMs?: number) => appOf(createIdempotency({ ...deps, ...(waitMs !== undefined && { waitMs }) })),
  }
}

function toUser(id: string): SignedInUser {
  return { id, email: `${id}@example.com`, name: id, isAdmin: false, plan: 'solo', subscriptionId: null }
}

test('the same key and body: the first status and body again, marked as replayed', async () => {
  const { ask, runs } = openTestApp()
  const first = await ask('k1')
  const second = await ask('k1')
  expect([first.status, await first.json(), first.headers.get('idempotency-replayed')]).toEqual([201, { run: 1 }, null])
  expect([second.status, await second.json(), second.headers.get('idempotency-replayed')]).toEqual([
    201,
    { run: 1 },
    'true',
  ])
  expect(second.headers.get('content-type')).toBe('application/json')
  expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
  expect(runs()).toBe(1)
})

test('requests without a key, with other keys or of other users are separate', async () => {
  const { ask, runs } = openTestApp()
  for (const response of [ask(null), ask(null), ask('k1'), ask('k2'), ask('k1', { amount: 1 }, { user: 'eve' })]) {
    expect((await response).status).toBe(201)
  }
  expect(runs()).toBe(5)
})

test('409 when the same key comes with another body or path', async () => {
  const { ask, runs } = openTestApp()
  await ask('k1')
  for (const response of [await ask('k1', { amount: 2 }), await ask('k1', { amount: 1 }, { path: '/other' })]) {
    expect(response.status).toBe(409)
    expect(await response.json()).toMatchObject({ code: 'IDEMPOTENCY_MISMATCH' })
  }
  expect(runs()).toBe(1)
})

test('200 concurrent requests with one key run once, and all get its response', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { ask, runs } = openTestApp(async (run) => {
    await promise
    return Response.json({ run })
  })
  const asked = Array.from({ length: 200 }, () => ask('k1'))
  resolve()
  const bodies = await Promise.all(asked.map(async (response) => (await response).json()))
  expect(new Set(bodies.map((body) => JSON.stringify(body)))).toEqual(new Set(['{"run":1}']))
  expect(runs()).toBe(1)
})

test('409 with Retry-After when the first request takes too long', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { again, ask, runs } = openTestApp(async (run) => {
    await promise
    return Response.json({ run })
  })
  const on = again(0)
  const first = ask('k1', {}, { on })
  const second = await ask('k1', {}, { on })
  expect(second.status).toBe(409)
  expect(second.headers.get('retry-after')).toBe('5')
  expect(await second.json()).toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
  resolve()
  expect((await first).status).toBe(200)
  expect(runs()).toBe(1)
})

test('a retry after a crash continues from the result of the first request', async () => {
  const { again, ask, runs, platform } = openTestApp(async (_run, { made, note }, db) => {
    if (made) return Response.json({ made })
    await write(db, (tx) => note(tx, 'agent-1'))
    return new Promise(() => undefined)
  })
  void ask('k1')
  await until('the first request', () => runs() === 1)
  await until('what it made', () => dumpTables(platform.db).includes('"agent-1"'))
  const response = await ask('k1', undefined, { on: again() })
  expect([response.status, await response.json(), runs()]).toEqual([200, { made: 'agent-1' }, 2])
})

test('a retry after a crash starts again when the first request had created nothing', async () => {
  const { again, ask, runs } = openTestApp((run, { made }) =>
    run === 1 ? new Promise(() => undefined) : Response.json({ run, made }),
  )
  void ask('k1')
  await until('the first request', () => runs() === 1)
  const response = await ask('k1', undefined, { on: again() })
  expect([response.status, await response.json()]).toEqual([200, { run: 2, made: null }])
  expect((await ask('k1', { amount: 2 }, { on: again() })).status).toBe(409)
})

test.each([
  ['invalid', 400, 1],
  ['payment_required', 402, 1],
  ['internal', 500, 1],
  ['limited', 429, 2],
  ['unavailable', 503, 2],
] as const)(
  'a response of kind %s (%d) causes %d run(s) for two requests: "later" is not stored',
  async (kind, status, count) => {
    const { ask, runs } = openTestApp(() => {
      throw new AppError(kind, 'No')
    })
    for (let index = 0; index < 2; index++) {
      const response = await ask('k1')
      expect([response.status, await response.json()]).toEqual([status, { error: 'No' }])
    }
    expect(runs()).toBe(count)
  },
)

test('a retry after a response of kind "later" continues from the created resource', async () => {
  const { ask, runs } = openTestApp(async (_run, { made, note }, db) => {
    if (made) return Response.json({ made })
    await write(db, (tx) => note(tx, 'agent-1'))
    throw new AppError('unavailable', 'Storage is not available')
  })
  expect((await ask('k1')).status).toBe(503)
  const response = await ask('k1')
  expect([response.status, await response.json(), runs()]).toEqual([200, { made: 'agent-1' }, 2])
})

test('a response is stored encrypted for a day, and then deleted', async () => {
  const { ask, runs, clock, platform, idempotency } = openTestApp(() => Response.json({ secret: 'canary' }))
  await ask('k1')
  expect(dumpTables(platform.db)).not.toContain('canary')
  clock.advance(DAY_MS - 1)
  await idempotency.deleteExpired(new AbortController().signal)
  await ask('k1')
  expect(runs()).toBe(1)
  clock.advance(1)
  expect((await ask('k1', { amount: 2 })).status).toBe(200)
  expect(runs()).toBe(2)
  clock.advance(DAY_MS)
  await idempotency.deleteExpired(new AbortController().signal)
  expect(countRows(platform.db).idempotency_keys).toBe(0)
})

test.each(['', 'two words', 'x'.repeat(256)])('400 when the key is %j', async (key) => {
  const { ask, runs } = openTestApp()
  expect((await ask(key)).status).toBe(400)
  expect(runs()).toBe(0)
})

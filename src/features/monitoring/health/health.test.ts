import { describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { openTestDatabase } from '../../../../tests/harness/database.ts'
import { testClock, testPlatform } from '../../../../tests/harness/platform.ts'
import { json } from '../../../../tests/harness/requests.ts'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { until } from '../../../../tests/harness/until.ts'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { createLog } from '../../../core/log.ts'
import { write } from '../../../db/write.ts'
import { rateLoad } from './host.ts'
import { createReadiness } from './readiness.ts'
import { healthWeb } from './routes.ts'

/** A runtime whose `isAvailable` returns `isUp`. */
function fakeRuntime(isUp: boolean): Runtime {
  return { ...createNoRuntime('process', 'Nothing runs here'), isAvailable: async () => isUp }
}

test('GET /api/health: 200 with the state of the machine, without authentication', async () => {
  const { web, clock } = testPlatform()
  const response = await web.request('/api/health')
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    status: 'ok',
    health: expect.stringMatching(/^(healthy|degraded|unhealthy)$/),
    timestamp: clock.now().toISOString(),
    cpu: { usage: expect.any(Number), cores: expect.any(Number) },
    memory: {
      usage: expect.any(Number),
      total: expect.any(Number),
      used: expect.any(Number),
      free: expect.any(Number),
    },
    uptime: expect.any(Number),
  })
})

test.each(['web', 'backend', 'summarizer'] as const)(
  'GET and HEAD /healthz and /readyz on the %s port: 200 without credentials, and only ok in the body',
  async (api) => {
    const { api: apiNamed } = testPlatform({ runtime: fakeRuntime(true) })
    for (const path of ['/healthz', '/readyz']) {
      const response = await apiNamed(api).request(path)
      expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }])
      const head = await apiNamed(api).request(path, { method: 'HEAD' })
      expect([head.status, await head.text()]).toEqual([200, ''])
    }
  },
)

test('GET /readyz: 503 with the failing part when the runtime is unreachable or the disk below its reserve', async () => {
  const noRuntime = testPlatform({ runtime: fakeRuntime(false) })
  const response = await noRuntime.web.request('/readyz')
  expect([response.status, await response.json()]).toEqual([503, { status: 'failing', failing: ['runtime'] }])
  expect((await noRuntime.web.request('/healthz')).status).toBe(200)
  const environment = { MIN_FREE_DISK_MB: '1000000000' }
  const full = testPlatform({ runtime: fakeRuntime(true), environment })
  expect(await (await full.backend.request('/readyz')).json()).toEqual({ status: 'failing', failing: ['disk'] })
})

test('GET /readyz: 503 with the failing part when the database reads but does not write', async () => {
  const { summarizer, platform } = testPlatform({ runtime: fakeRuntime(true) })
  const refuse = sql`create trigger full before insert on readiness begin select raise(abort, 'full'); end`
  await write(platform.db, (tx) => tx.run(refuse))
  const response = await summarizer.request('/readyz')
  expect([response.status, await response.json()]).toEqual([503, { status: 'failing', failing: ['database'] }])
})

test('GET /readyz: 503 when the service begins to stop', async () => {
  const stopping = new AbortController()
  const web = testPlatform({ runtime: fakeRuntime(true) }).api('web', { stopping: stopping.signal })
  expect((await web.request('/readyz')).status).toBe(200)
  stopping.abort()
  const response = await web.request('/readyz')
  expect([response.status, await response.json()]).toEqual([503, { status: 'failing', failing: ['stopping'] }])
  expect((await web.request('/healthz')).status).toBe(200)
})

test('createReadiness checks the parts at intervals for any number of requests, and counts a hanging part as failing', async () => {
  let asked = 0
  const isLow = () => {
    asked += 1
    return new Promise<boolean>(() => undefined)
  }
  const { platform } = testPlatform({ runtime: fakeRuntime(true) })
  const times = { keptMs: 5, failingKeptMs: 5, patienceMs: 100 }
  const findFailing = createReadiness({ ...platform, diskFloor: { isLow } }, times)
  const startedAt = performance.now()
  const first = Array.from({ length: 50 }, () => findFailing())
  await until('the time that an answer is kept', () => performance.now() > startedAt + 2 * times.keptMs)
  const answers = await Promise.all([...first, findFailing()])
  expect([asked, new Set(answers.map(String))]).toEqual([1, new Set(['disk'])])
  await until('a new look', async () => (await findFailing()) && asked === 2)
})

test('GET /readyz: writes once for repeated requests', async () => {
  const { web, platform } = testPlatform({ runtime: fakeRuntime(true) })
  const before = platform.changes.count()
  for (let asked = 0; asked < 100; asked++) expect((await web.request('/readyz')).status).toBe(200)
  expect(platform.changes.count() - before).toBeLessThan(3)
})

test.each([
  [0, 'healthy'],
  [70, 'healthy'],
  [70.1, 'degraded'],
  [85, 'degraded'],
  [85.1, 'unhealthy'],
  [100, 'unhealthy'],
] as const)('rateLoad, at %d percent, returns %s', (percent, health) => {
  expect(rateLoad(percent)).toBe(health)
})

test('GET /api/health: 500 without figures when the machine cannot be measured', async () => {
  const clock = testClock()
  const probeHost = () => {
    throw new Error('no /proc here')
  }
  const response = await healthWeb({ clock, log: createLog('silent'), probeHost, findFaults: async () => [] }).request(
    '/api/health',
  )
  expect(response.status).toBe(500)
  expect(await response.json()).toEqual({ status: 'error', health: 'unhealthy', timestamp: clock.now().toISOString() })
})

test.each(['/nowhere/docker.sock', 'tcp://127.0.0.1:1', 'unix:///nowhere/docker.sock'])(
  'GET /health: 200 with docker unavailable when the socket is %s',
  async (host) => {
    const { backend, clock } = testPlatform({ environment: { DOCKER_HOST: host } })
    const response = await backend.request('/health')
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      status: 'ok',
      timestamp: clock.now().toISOString(),
      docker: 'unavailable',
      provisioning: 'enabled',
    })
  },
)

test('GET /health: 200 with docker available when an engine responds on the socket', async () => {
  using folder = tempFolder()
  using _engine = Bun.serve({ unix: folder.file('docker.sock'), fetch: () => new Response('OK') })
  const { backend } = testPlatform({ environment: { DOCKER_HOST: folder.file('docker.sock') } })
  expect(await (await backend.request('/health')).json()).toMatchObject({ docker: 'available' })
})

test('GET /health: 200 with provisioning disabled when the kill switch is on', async () => {
  const { backend } = testPlatform({ environment: { KILL_SWITCH: 'true' } })
  expect(await (await backend.request('/health')).json()).toMatchObject({ status: 'ok', provisioning: 'disabled' })
})

describe('when writes of users fail', () => {
  const health = async ({ backend, web }: ReturnType<typeof testPlatform>) => [
    await (await backend.request('/health')).json(),
    await (await web.request('/api/health')).json(),
  ]

  test('GET /health: 200 degraded with the database named, and ok when it writes again', async () => {
    const connection = openTestDatabase()
    const installation = testPlatform({ connection, runtime: fakeRuntime(true) })
    expect(await health(installation)).toMatchObject([{ status: 'ok' }, { status: 'ok' }])
    connection.sqlite.pragma('query_only = ON')
    const registered = await installation.web.request(
      '/api/register',
      json('POST', { email: 'ada@example.com', password: 'a long password of Ada', name: 'Ada' }),
    )
    expect(registered.status).toBe(503)
    // A busy machine reports a worse state.
    const isBad = expect.stringMatching(/^(degraded|unhealthy)$/)
    const failing = ['database']
    expect(await health(installation)).toMatchObject([
      { status: 'degraded', failing },
      { health: isBad, failing },
    ])
    connection.sqlite.pragma('query_only = OFF')
    await until('ok', async () => {
      const [backend] = await health(installation)
      return JSON.stringify(backend).includes('"status":"ok"')
    })
    expect(JSON.stringify(await health(installation))).not.toContain('failing')
  })

  test('GET /health: 200 degraded when the disk is below its reserve', async () => {
    const installation = testPlatform({ environment: { MIN_FREE_DISK_MB: '1000000000' }, runtime: fakeRuntime(true) })
    expect(await health(installation)).toMatchObject([{ status: 'degraded', failing: ['disk'] }, { failing: ['disk'] }])
  })
})

test('GET / and GET /health of the summarizer: 200 without credentials', async () => {
  const { summarizer } = testPlatform()
  const about = await summarizer.request('/')
  expect(about.status).toBe(200)
  expect(await about.json()).toEqual({
    service: expect.any(String),
    description: expect.any(String),
    endpoints: expect.any(Object),
    payment: { network: expect.any(String), currency: 'USDC', payTo: null, note: expect.any(String) },
  })
  const health = await summarizer.request('/health')
  expect(health.status).toBe(200)
  expect(await health.json()).toEqual({ status: 'ok', service: expect.any(String), version: expect.any(String) })
})

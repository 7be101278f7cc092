import { describe, expect, test } from 'bun:test'
import { describeRoutes } from '../../../scripts/routes.ts'
import { createDiskFloor, watchDiskJob } from '../../../src/features/agents/storage/disk.ts'
import { createApp } from '../../../src/server/app.ts'
import { startReceiver } from '../../harness/doubles/receivers.ts'
import { startJobs } from '../../harness/jobs.ts'
import { INTERNAL_KEY, testPlatform } from '../../harness/platform.ts'
import { bearer, json } from '../../harness/requests.ts'
import { until } from '../../harness/until.ts'

const LOW = { MIN_FREE_DISK_MB: '1000000000' }
const FULL = { error: 'The server has no room left. Please try again later.', code: 'DISK_FULL' }
const never = new AbortController().signal

/** Writes allowed on a full disk; all others, including new routes, are rejected. */
const GOES_ON =
  /stop|cancel|reset-memory|\/rotate|\/api\/(auth|admin|security|watchdog|settings|ai|demo|billing|wallet-auth|heartbeat|validate-key|keys|payments|pause)\b|notices\/(settings|channels\/)|agents\/:id\/(breaker|limits|pause|resume)\b|webhooks\/stripe|validate|\/v1\/(chat|embeddings|messages|responses)/

describe('below the disk reserve', () => {
  test('every write of a user: 507 DISK_FULL on both APIs, and nothing is stored', async () => {
    const { web, backend, signIn, platform } = testPlatform({ environment: LOW })
    const { cookie } = await signIn()
    for (const [path, body] of [
      ['/api/chat', { message: 'Hello' }],
      ['/api/memory', { agentId: 'a', key: 'k', value: 'v' }],
      ['/api/agents', { name: 'Ada' }],
      ['/api/register', { email: 'bo@example.com', password: 'a long password of Bo', name: 'Bo' }],
      ['/api/browse/write', { path: 'a.txt', content: 'a' }],
      ['/api/scheduled-tasks', { name: 'Task' }],
    ] as const) {
      const response = await web.request(path, json('POST', body, cookie))
      expect([path, response.status, await response.json()]).toEqual([path, 507, FULL])
    }
    const response = await backend.request('/api/agents', json('POST', { name: 'Ada' }, bearer(INTERNAL_KEY)))
    expect([response.status, await response.json()]).toEqual([507, FULL])
    expect(platform.connection.sqlite.prepare('SELECT count(*) FROM users').pluck().get()).toBe(1)
  })

  test('exempt routes respond, all others return 507 before their guard', async () => {
    const { platform, web, backend } = testPlatform({ environment: LOW })
    const writes = describeRoutes(createApp(platform, new Map()).routes)
      .map((line) => line.split(' '))
      .filter(([method = '', , api]) => /^P/.test(method) && api !== 'summarizer')
    for (const [method = '', path = '', api, , ...traits] of writes) {
      const request = api === 'web' ? web.request : backend.request
      const { status } = await request(path.replace(/:\w+/g, 'none'), { method })
      expect([method, path, api, status === 507]).toEqual([method, path, api, !traits.includes('worksOnFullDisk')])
    }
  })

  test('users can read, sign in and out, and delete', async () => {
    const { web, signIn } = testPlatform({ environment: LOW })
    const { cookie } = await signIn()
    expect((await web.request('/api/agents', { headers: cookie })).status).toBe(200)
    expect((await web.request('/api/agents/none', { method: 'DELETE', headers: cookie })).status).toBe(200)
    const login = json('POST', { email: 'ada@example.com', password: 'not the right one' })
    expect((await web.request('/api/auth/login', login)).status).toBe(401)
    expect((await web.request('/api/auth/signout', { method: 'POST', headers: cookie })).status).toBe(200)
  })

  test('every route whose data grow is refused', () => {
    const { platform } = testPlatform()
    const written = describeRoutes(createApp(platform, new Map()).routes)
      .map((line) => line.split(' '))
      .filter(([method = '', , api]) => /^P/.test(method) && api !== 'summarizer')
    const goingOn = written.filter((words) => words.includes('worksOnFullDisk'))
    expect(goingOn.filter(([, path = '']) => !GOES_ON.test(path))).toEqual([])
    expect(written.length - goingOn.length).toBeGreaterThan(50)
    expect(goingOn.map(([method, path]) => `${method} ${path}`)).not.toContain('POST /api/keys')
    expect(goingOn.map(([method, path]) => `${method} ${path}`)).not.toContain('PATCH /api/settings')
  })

  test('the operator is notified once when the disk fills and once when space returns', async () => {
    await using webhook = await startReceiver()
    const { platform, logLines } = testPlatform({
      environment: {
        WATCHDOG_WEBHOOK_URL: webhook.url,
        WATCHDOG_WEBHOOK_SECRET: 'a plain secret of 24 or more letters',
      },
    })
    await using _jobs = startJobs(platform)
    let free = 1e9
    let now = 0
    const floor = () => createDiskFloor(async () => free, 500e6)
    const diskFloor = { minFreeBytes: 500e6, isLow: () => floor().isLow(), measure: () => floor().measure() }
    const job = watchDiskJob({ ...platform, clock: { now: () => new Date(now++) }, diskFloor })
    const reported = () => webhook.taken().join('\n')
    const logged = () => logLines.join('\n')
    await job.run(never)
    expect(logged()).not.toContain('writes')
    free = 1e6
    for (let round = 0; round < 3; round++) await job.run(never)
    await until('the notification', () => reported().includes('watchdog.disk_low'))
    expect(logged().split('Users’ writes are refused: 0 MB are free')).toHaveLength(2)
    free = 1e9
    for (let round = 0; round < 3; round++) await job.run(never)
    await until('the recovery event', () => reported().includes('watchdog.disk_recovered'))
    expect(logged().split('Users can write again')).toHaveLength(2)
    expect(webhook.taken()).toHaveLength(2)
  })

  test('the state without writes is logged once when it begins and once when it ends', async () => {
    const { platform, logLines } = testPlatform()
    const job = watchDiskJob(platform)
    const { sqlite } = platform.connection
    sqlite.pragma('query_only = ON')
    await platform.sessions.create('nobody').catch(() => undefined)
    for (let round = 0; round < 3; round++) await job.run(never)
    expect(logLines.join('\n').split('nothing can be written')).toHaveLength(2)
    sqlite.pragma('query_only = OFF')
    await platform.findFailing()
    for (let round = 0; round < 3; round++) await job.run(never)
    expect(logLines.join('\n').split('can be written again')).toHaveLength(2)
  })
})

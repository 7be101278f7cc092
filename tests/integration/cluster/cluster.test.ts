import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SERVICE_KEY } from '../../harness/server.ts'
import { openPostgres, POSTGRES_PROGRAMS, type TestPostgres } from '../../harness/services/postgres.ts'
import { until } from '../../harness/until.ts'
import {
  changeAccounts,
  checksums,
  complete,
  forgetHistory,
  keepRegistering,
  listAccounts,
  listGenerations,
  openLateModel,
  openNode,
  readInstance,
  readStatus,
  register,
  setUp,
  startNodes,
  untilEqual,
  untilMore,
  untilSameRows,
} from './nodes.ts'

const PATIENCE_MS = 600_000
/** Time without an acknowledged write after the loss of a node; a busy machine adds to the lease of 3 s. */
const MAX_GAP_MS = 20_000
/** Longer than the lease of a leader, which therefore changes when the log is back. */
const LEASE_MS = 4000

let postgres: TestPostgres
if (POSTGRES_PROGRAMS === null) console.warn('Cluster tests are skipped: PostgreSQL is not installed.')

describe.skipIf(POSTGRES_PROGRAMS === null)('a cluster of two nodes', () => {
  beforeAll(async () => {
    postgres = await openPostgres()
  }, PATIENCE_MS)
  afterAll(() => postgres[Symbol.asyncDispose]())

  async function openPair() {
    const logUrl = await postgres.createDatabase()
    return { logUrl, one: await openNode(logUrl, 'one'), two: await openNode(logUrl, 'two') }
  }

  test(
    'GET /api/cluster: 200 with both nodes; what a follower accepts is read from both at once',
    async () => {
      const { one, two } = await openPair()
      await using _one = one
      await using _two = two
      await startNodes([one, two])
      await setUp(one)
      const { status } = await register(two)
      expect(status).toBe(200)
      await untilEqual([one, two])
      expect(await readStatus(two)).toMatchObject({
        nodes: [
          { id: 'one', role: 'leader', lag: 0, url: one.backend },
          { id: 'two', role: 'follower', lag: 0, url: two.backend },
        ],
        leader: 'one',
        log: { synchronous: false },
      })
      expect(listAccounts(two)).toEqual(listAccounts(one))
      const asked = (path: string, headers = {}) => fetch(`${two.backend}${path}`, { headers })
      expect(await (await asked('/health')).json()).toMatchObject({ status: 'ok' })
      expect((await asked('/api/cluster')).status).toBe(401)
      expect((await asked('/api/cluster', { authorization: 'Bearer wrong' })).status).toBe(403)
      const { stdout } = await two.run(['cluster', 'status', '--json'])
      expect(JSON.parse(stdout)).toMatchObject({ leader: 'one' })
      const refused = await two.run(['user', 'list'])
      expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('belongs to a cluster') })
    },
    PATIENCE_MS,
  )

  test(
    'a killed leader loses nothing acknowledged, and its file joins again',
    async () => {
      const { one, two } = await openPair()
      await using _one = one
      await using _two = two
      const [first] = await startNodes([one, two])
      await setUp(one)
      const load = keepRegistering([one, two])
      await untilMore(load, 5)
      await first?.kill()
      await untilMore(load, 5)
      const { longestGapMs } = await load.stop()
      expect(longestGapMs).toBeLessThan(MAX_GAP_MS)
      await one.start()
      await untilEqual([two, one])
      const known = listAccounts(two)
      expect(load.acknowledged.filter((email) => !known.has(email))).toEqual([])
      await untilSameRows(one, two)
      console.log(`leader killed: ${load.acknowledged.length} accounts, longest gap ${longestGapMs} ms`)
    },
    PATIENCE_MS,
  )

  test(
    'POST /v1/chat/completions: 200 only when its usage is in the log, which a killed leader keeps; 503 without the log',
    async () => {
      const logUrl = await postgres.createDatabase()
      await using one = await openNode(logUrl, 'one', { AI_ECHO: 'true' })
      await using two = await openNode(logUrl, 'two', { AI_ECHO: 'true' })
      const [first] = await startNodes([one, two])
      await setUp(one)
      const answered: string[] = []
      for (const stream of [false, true, false, true]) {
        const answer = await complete(two, stream)
        expect(answer.status).toBe(200)
        answered.push(answer.generationId)
      }
      await first?.kill()
      await until('another leader', async () => (await readStatus(two).catch(() => null))?.leader === 'two')
      const recorded = listGenerations(two)
      expect(answered.filter((id) => !recorded.has(id))).toEqual([])
      await postgres.kill()
      await until('status 503', async () => (await complete(two, false)).status === 503)
      await postgres.start()
    },
    PATIENCE_MS,
  )

  test(
    'a leader that was paused beyond its lease writes nothing, and follows its successor',
    async () => {
      const { one, two } = await openPair()
      await using _one = one
      await using _two = two
      const [first] = await startNodes([one, two])
      await setUp(one)
      const load = keepRegistering([one, two])
      await untilMore(load, 3)
      process.kill(first?.pid ?? 0, 'SIGSTOP')
      await until('another leader', async () => (await readStatus(two).catch(() => null))?.leader === 'two')
      process.kill(first?.pid ?? 0, 'SIGCONT')
      await untilMore(load, 3)
      await load.stop()
      await untilEqual([two, one])
      const known = listAccounts(one)
      expect(load.acknowledged.filter((email) => !known.has(email))).toEqual([])
      await untilSameRows(one, two)
    },
    PATIENCE_MS,
  )

  test(
    'writes get 503 within seconds when the log is lost, reads continue, and nothing is lost when it returns',
    async () => {
      const { one, two } = await openPair()
      await using _one = one
      await using _two = two
      await startNodes([one, two])
      await setUp(one)
      await register(two)
      await postgres.kill()
      const sentAt = performance.now()
      const refused = await register(two)
      expect(refused.status).toBe(503)
      expect(performance.now() - sentAt).toBeLessThan(10_000)
      await until('a rejection with Retry-After', async () => (await register(one)).retryAfter !== null)
      await Bun.sleep(LEASE_MS)
      for (const { web } of [one, two]) expect((await fetch(`${web}/api/auth/providers`)).status).toBe(200)
      expect((await fetch(`${one.backend}/readyz`)).status).toBe(503)
      await postgres.start()
      await until('a write', async () => (await register(two).catch(() => null))?.email)
      await untilEqual([one, two])
      await untilSameRows(one, two)
    },
    PATIENCE_MS,
  )

  test(
    'POST /api/cluster/snapshot: 200, and an empty node and one with a differing file start from it',
    async () => {
      const { one, two } = await openPair()
      await using _one = one
      await using _two = two
      await startNodes([one])
      await setUp(one)
      for (let count = 0; count < 3; count++) await register(one)
      for (let count = 0; count < 2; count++) {
        const response = await fetch(`${one.backend}/api/cluster/snapshot`, {
          method: 'POST',
          headers: { authorization: `Bearer ${SERVICE_KEY}` },
        })
        expect(response.status).toBe(200)
        await register(one)
      }
      const [second] = await startNodes([two])
      await untilEqual([one, two])
      await untilSameRows(two, one)
      // The file of a node with another history is replaced by the snapshot.
      await second?.stop()
      forgetHistory(two)
      const again = await two.start()
      await until('the same rows', async () => {
        await register(one)
        return Bun.deepEquals(checksums(two), checksums(one))
      })
      expect(again.lines.filter((line) => line.includes('has another history'))).toHaveLength(1)
    },
    PATIENCE_MS,
  )

  test(
    'a node that founds a cluster contributes its data, and runs alone again only after `stead cluster leave`',
    async () => {
      const { one, two } = await openPair()
      await using _one = one
      await using _two = two
      const alone = { CLUSTER_LOG_URL: '', AGENT_RUNTIME: 'process' }
      const single = await one.start(alone)
      await setUp(one)
      await single.stop()
      const instance = readInstance(one)
      const [first] = await startNodes([one])
      const [second] = await startNodes([two])
      await untilEqual([one, two])
      expect(listAccounts(two).size).toBe(1)
      await untilSameRows(two, one)
      expect([readInstance(one), readInstance(two)]).toEqual([instance, instance])
      await second?.stop()
      await first?.stop()
      const refused = await one.run(['serve'], { environment: alone })
      expect(`${refused.exitCode} ${refused.stderr}`).toMatch(/^78 stead: CLUSTER_LOG_URL: must be set, because/)
      const left = await one.run(['cluster', 'leave', '--json'])
      expect(JSON.parse(left.stdout)).toEqual({ cluster: instance, position: expect.any(Number) })
      expect((await one.run(['cluster', 'leave'])).stderr).toContain('the database belongs to no cluster')
      await one.start(alone)
      expect(listAccounts(one).size).toBe(1)
      expect((await two.run(['cluster', 'leave'])).exitCode).toBe(0)
      const returning = await two.run(['serve'])
      expect(returning).toMatchObject({ exitCode: 78, stderr: expect.stringContaining('has data of its own') })
    },
    PATIENCE_MS,
  )

  test(
    "tables that differ from the leader's are detected and replaced from a snapshot",
    async () => {
      const logUrl = await postgres.createDatabase()
      const often = { CLUSTER_CHECK_MINUTES: '0.02' }
      await using one = await openNode(logUrl, 'one', often)
      await using two = await openNode(logUrl, 'two', often)
      await startNodes([one, two])
      await setUp(one)
      const result = async (kind: string) => {
        await register(one)
        const metrics = await (await fetch(`${two.backend}/metrics`)).text()
        return Number(metrics.match(new RegExp(`stead_cluster_comparisons_total{result="${kind}"} (\\d+)`))?.[1] ?? 0)
      }
      await until('equal tables', () => result('equal'))
      changeAccounts(two)
      await until('different tables', () => result('different'))
      await until('the same rows', async () => {
        await register(one)
        // The file is missing for a moment while it is replaced.
        return existsSync(join(two.dataDir, 'stead.db')) && Bun.deepEquals(checksums(two), checksums(one))
      })
    },
    PATIENCE_MS,
  )

  test(
    'POST /v1/chat/completions: 200 through a follower when the model takes longer than the idle limit',
    async () => {
      await using late = await openLateModel(12_000)
      const logUrl = await postgres.createDatabase()
      const provider = { PROVIDER_LATE_BASE_URL: late.url, PROVIDER_LATE_API_KEY: 'key' }
      await using one = await openNode(logUrl, 'one', provider)
      await using two = await openNode(logUrl, 'two', provider)
      await startNodes([one, two])
      await setUp(one)
      expect((await complete(two, false, 'late/slow')).status).toBe(200)
    },
    PATIENCE_MS,
  )

  test(
    'the other node leads at once when the leader gets SIGTERM',
    async () => {
      const { one, two } = await openPair()
      await using _one = one
      await using _two = two
      const [first] = await startNodes([one, two])
      await setUp(one)
      const load = keepRegistering([two])
      await untilMore(load, 3)
      const { exitCode } = (await first?.stop()) ?? {}
      expect(exitCode).toBe(0)
      await untilMore(load, 3)
      const { longestGapMs } = await load.stop()
      expect(listAccounts(two)).toEqual(new Set([...listAccounts(one), ...load.acknowledged]))
      console.log(`leader stopped: longest gap ${longestGapMs} ms`)
    },
    PATIENCE_MS,
  )
})

describe.skipIf(POSTGRES_PROGRAMS === null)('the primary of the log', () => {
  test(
    'loses nothing acknowledged when it is killed during writes and a synchronous standby takes over',
    async () => {
      await using primary = await openPostgres()
      const own = await primary.createDatabase()
      await using standby = await primary.addStandby()
      // The standby comes first, as after an earlier failover.
      const logUrl = `${own.replace(`:${primary.port}/`, `:${standby.port}/`)},${own}`
      await using one = await openNode(logUrl, 'one')
      await using two = await openNode(logUrl, 'two')
      await startNodes([one, two])
      await until('a synchronous log', async () => (await readStatus(one)).log.synchronous)
      await setUp(one)
      const load = keepRegistering([one, two])
      await untilMore(load, 5)
      await primary.kill()
      await standby.promote()
      await untilMore(load, 5)
      await load.stop()
      await untilEqual([one, two])
      const known = listAccounts(two)
      expect(load.acknowledged.filter((email) => !known.has(email))).toEqual([])
      await untilSameRows(one, two)
      // The promoted server has no standby of its own.
      expect((await readStatus(one)).log.synchronous).toBe(false)
    },
    PATIENCE_MS,
  )
})

describe.skipIf(POSTGRES_PROGRAMS === null)('a node that does not match the cluster', () => {
  test(
    'exits with 78 and one line for another ENCRYPTION_KEY, a used node id or another cluster’s file, and applies nothing',
    async () => {
      await using server = await openPostgres()
      const logUrl = await server.createDatabase()
      await using one = await openNode(logUrl, 'one')
      await startNodes([one])
      await using wrongKey = await openNode(logUrl, 'two', { ENCRYPTION_KEY: 'another-key-0123456789-0123456789' })
      await using sameId = await openNode(logUrl, 'one')
      const refusalOf = async (node: typeof one, environment?: Record<string, string>) => {
        const { exitCode, stderr } = await node.run(['serve'], environment && { environment })
        return `${exitCode} ${stderr.trim()}`
      }
      expect(await refusalOf(wrongKey)).toMatch(/^78 stead: ENCRYPTION_KEY: differs/)
      expect(await refusalOf(sameId)).toMatch(/^78 stead: CLUSTER_NODE_ID: another node/)
      await using two = await openNode(logUrl, 'two')
      const [program] = await startNodes([two])
      await program?.stop()
      const elsewhere = { CLUSTER_LOG_URL: await server.createDatabase() }
      expect(await refusalOf(two, elsewhere)).toMatch(/^78 stead: DATA_DIR: the database belongs to another cluster/)
      expect(await refusalOf(two, { CLUSTER_LOG_URL: 'mysql://root@127.0.0.1/stead' })).toMatch(
        /^78 stead: CLUSTER_LOG_URL: /,
      )
      expect(await refusalOf(two, { AGENT_RUNTIME: 'process' })).toMatch(/^78 stead: AGENT_RUNTIME: must be swarm/)
      expect(await refusalOf(two, { CLUSTER_LOG_URL: 'postgres://postgres@127.0.0.1:1/stead' })).toMatch(
        /^75 stead: CLUSTER_LOG_URL: /,
      )
    },
    PATIENCE_MS,
  )
})

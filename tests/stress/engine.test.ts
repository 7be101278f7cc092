import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { WebAgentList } from '../../src/features/agents/registry/schemas.ts'
import { createAgent, type Person, signUp } from '../harness/client.ts'
import { canStartEngines, findEngine, type PrivateEngine, startEngine } from '../harness/engines/engine.ts'
import { read } from '../harness/requests.ts'
import { roundsOf } from '../harness/rounds.ts'
import { startServer, type TestServer } from '../harness/server.ts'
import { atMostMs } from '../harness/speed/promised-times.ts'
import { tempFolder } from '../harness/temp-folder.ts'
import { until } from '../harness/until.ts'

/** Number of rounds: `ENGINE_ROUNDS=17 bun test tests/stress/engine.test.ts`. */
const ROUNDS = roundsOf('ENGINE_ROUNDS', 1)
const ROUND_MS = 300_000
/** Maximum response time during an engine fault. */
const ANSWER_MS = 5000

const canRun = canStartEngines()
if (!canRun)
  console.warn('Engines that may be stopped need root, dockerd and a static busybox: their tests are skipped.')

type Fault = 'stopped' | 'killed' | 'frozen'

describe.skipIf(!canRun)('a container engine that stops', () => {
  let engine: PrivateEngine
  beforeAll(async () => {
    engine = await startEngine()
  }, ROUND_MS)
  afterAll(() => engine?.[Symbol.asyncDispose](), ROUND_MS)

  test(
    `changes no status and returns with all agents when ${ROUNDS} times stopped, killed and frozen`,
    async () => {
      await using server = await startServer(toSettings(engine))
      const person = await signUp(server.urls.web)
      const ids = [await createAgent(person, { name: 'Ada' }), await createAgent(person, { name: 'Bo' })]
      for (let round = 0; round < ROUNDS; round++) {
        for (const fault of ['stopped', 'killed', 'frozen'] as const) {
          const heal = await apply(engine, fault)
          await isBroken(server, person, ids, fault)
          await heal()
          await isWhole(server, engine, person, ids)
        }
      }
    },
    ROUNDS * 3 * ROUND_MS,
  )

  test(
    'does not prevent a start, and agents run when the engine starts',
    async () => {
      const heal = await apply(engine, 'stopped')
      await using server = await startServer({ ...toSettings(engine), DEPLOYMENT_MODE: 'cloud' })
      const person = await signUp(server.urls.web)
      const health = await fetch(`${server.urls.backend}/health`)
      expect(await health.json()).toMatchObject({ status: 'ok', docker: 'unavailable' })
      expect((await person.get('/api/agents')).status).toBe(200)
      await heal()
      await until('the engine is seen', async () => (await healthOf(server)).docker === 'available')
    },
    ROUND_MS,
  )
})

describe.skipIf((await findEngine()) === null)('a container engine that loses its containers', () => {
  test('makes no agent disappear in 10 attempts', async () => {
    const real = await findEngine()
    if (!real) return
    using folder = tempFolder()
    const socket = folder.file('forgetful.sock')
    let forgets = false
    const upstream = real.dockerHost.replace(/^unix:\/\//, '')
    const forgetful = Bun.serve({
      unix: socket,
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        if (forgets && pathname.endsWith('/containers/json')) return Response.json([])
        const { method, headers } = request
        const body = method === 'GET' ? undefined : await request.arrayBuffer()
        return fetch(`http://engine${pathname}${search}`, { unix: upstream, method, headers, ...(body && { body }) })
      },
    })
    await using server = await startServer({ ...toSettings(real), DOCKER_HOST: `unix://${socket}` })
    const person = await signUp(server.urls.web)
    const id = await createAgent(person)
    const [before] = await real.docker.listContainers({ filters: { label: [`stead.agent=${id}`] } })
    forgets = true
    for (let round = 0; round < 10; round++) expect(await statusesOf(person)).toEqual(['running'])
    const [after] = await real.docker.listContainers({ filters: { label: [`stead.agent=${id}`] } })
    expect(after?.Id).toBe(before?.Id ?? '')
    forgets = false
    expect((await person.delete(`/api/agents/${id}`)).status).toBe(200)
    await until('it is gone', async () => {
      const left = await real.docker.listContainers({ all: true, filters: { label: [`stead.agent=${id}`] } })
      return left.length === 0
    })
    for (const { Id } of await real.docker.listNetworks({
      filters: { label: [`stead.instance=${before?.Labels['stead.instance']}`] },
    })) {
      await real.docker.getNetwork(Id).remove()
    }
    await forgetful.stop(true)
  }, 300_000)
})

function toSettings({ dockerHost, image }: Pick<PrivateEngine, 'dockerHost' | 'image'>): Record<string, string> {
  return { AGENT_RUNTIME: 'docker', DOCKER_HOST: dockerHost, AGENT_IMAGE: image, AI_ECHO: 'true' }
}

/** Applies a fault. @returns a function that removes it. */
async function apply(engine: PrivateEngine, fault: Fault): Promise<() => Promise<void>> {
  const pid = engine.pid()
  process.kill(pid, { stopped: 'SIGTERM', killed: 'SIGKILL', frozen: 'SIGSTOP' }[fault])
  if (fault === 'frozen') return async () => void process.kill(pid, 'SIGCONT')
  await until('the engine has ended', () => !isAlive(pid), ROUND_MS)
  return () => engine.start()
}

async function isBroken(server: TestServer, person: Person, ids: string[], fault: Fault): Promise<void> {
  const stop = async (id: string) => {
    const startedAt = performance.now()
    const response = await person.post(`/api/agents/${id}/stop`, {})
    expect(performance.now() - startedAt).toBeLessThan(atMostMs(ANSWER_MS))
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ error: 'The container engine does not answer' })
  }
  await Promise.all(ids.map(stop))
  await until('the health check sees it', async () => (await healthOf(server)).docker === 'unavailable')
  expect(readRows(server)).toEqual(['running', 'running'])
  // A stopping engine stops its containers; they are down but still desired to run.
  const reported = fault === 'frozen' ? ['running'] : ['running', 'error']
  for (const status of await statusesOf(person)) expect(reported).toContain(status)
}

async function isWhole(server: TestServer, engine: PrivateEngine, person: Person, ids: string[]): Promise<void> {
  await until('the health check sees it', async () => (await healthOf(server)).docker === 'available')
  await until('both agents run', async () => {
    expect(readRows(server)).toEqual(['running', 'running'])
    const shouldAllRun = (await statusesOf(person)).every((status) => status === 'running')
    return shouldAllRun && (await engine.docker.listContainers()).length === ids.length
  })
  const all = await engine.docker.listContainers({ all: true })
  expect(all.map(({ Labels }) => Labels['stead.agent']).sort()).toEqual([...ids].sort())
}

/** Returns the desired states of the agents. */
function readRows({ dataDir }: TestServer): string[] {
  const database = new Database(join(dataDir, 'stead.db'), { readonly: true })
  try {
    return z.array(z.string()).parse(database.prepare('SELECT status FROM agents').pluck().all())
  } finally {
    database.close()
  }
}

function healthOf(server: TestServer) {
  return read(z.object({ docker: z.string() }), fetch(`${server.urls.backend}/health`))
}

async function statusesOf(person: Person): Promise<string[]> {
  const { agents } = await read(WebAgentList, person.get('/api/agents'))
  return agents.map(({ status }) => status)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

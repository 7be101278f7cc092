import { afterAll, afterEach, describe, expect, onTestFinished, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answersHealthz, runtimeContract, waitFor } from '../../../../tests/harness/engines/runtime-contract.ts'
import { findFreePorts } from '../../../../tests/harness/ports.ts'
import type { HostOrder } from '../../../../tests/harness/programs/process-test-host.ts'
import { roundsOf } from '../../../../tests/harness/rounds.ts'
import { until } from '../../../../tests/harness/until.ts'
import { systemClock } from '../../../core/clock.ts'
import { createLog } from '../../../core/log.ts'
import type { AgentSpec, Runtime, RuntimeLogLine } from '../contract/runtime.ts'
import { type AgentRecord, agentFolder, findRecord, readIfExists, writeRecord } from './files.ts'
import { createProcessRuntime, type ProcessRuntimeDeps } from './process.ts'
import { findConfinement, type Isolating } from './sandbox/confinement.ts'
import { isPortFree, killLeftovers } from './spawn.ts'
import { createProcessTable, psTable, withoutSandbox } from './table.ts'

const PROGRAMS = join(import.meta.dir, '..', '..', '..', '..', 'tests', 'harness', 'programs')
const AGENT: [string, string, string] = [process.execPath, '--no-env-file', join(PROGRAMS, 'process-test-agent.ts')]
const HOST = join(PROGRAMS, 'process-test-host.ts')
const PATIENCE_MS = 120_000
const KILLS = roundsOf('PROCESS_KILLS', 4)
const NOT_ISOLATED: Isolating = { confinement: null, reason: 'this test has no sandbox' }
const root = await mkdtemp(join(tmpdir(), 'stead-process-'))
const SEARCH_PATH = '/usr/bin:/bin'
const { confinement } = await findConfinement({ dir: root, command: AGENT, path: SEARCH_PATH })
/** With what keeps and makes its sandbox. */
const PROCESSES_PER_AGENT = confinement ? 4 : 1
const hasProc = existsSync('/proc/self/environ')

const table = createProcessTable()
const open = new Set<Runtime>()
let lastId = 0

afterEach(async () => {
  await Promise.all([...open].map((runtime) => runtime.close({ stopAgents: true })))
  open.clear()
})
afterAll(async () => {
  const left = await listAgentProcesses(root)
  for (const pid of left) process.kill(pid, 'SIGKILL')
  await rm(root, { recursive: true, force: true })
  expect(left).toEqual([])
})

function newDir(): string {
  lastId += 1
  return join(root, `platform-${lastId}`)
}

async function createRuntime(dir: string, change: Partial<ProcessRuntimeDeps> = {}): Promise<Runtime> {
  const runtime = await createProcessRuntime({
    dir,
    command: AGENT,
    path: SEARCH_PATH,
    lang: 'C.UTF-8',
    clock: systemClock,
    log: createLog('silent'),
    ...change,
    timing: { backoffMs: () => 50, pollMs: 50, stopMs: 3000, ...change.timing },
  })
  open.add(runtime)
  return runtime
}

async function makeSpec(change: Partial<AgentSpec> = {}): Promise<AgentSpec> {
  lastId += 1
  const id = `agent-${lastId}`
  return {
    id,
    image: null,
    port: await findFreePort(),
    environment: { AGENT_ID: id },
    secrets: { GATEWAY_TOKEN: 'gw_0123456789abcdef' },
    limits: { memoryBytes: 512 * 1024 * 1024, cpus: 1, processes: 64 },
    ...change,
  }
}

async function findFreePort(): Promise<number> {
  const [port = 0] = await findFreePorts(1)
  return port
}

async function deployHealthy(runtime: Runtime, change: Partial<AgentSpec> = {}): Promise<AgentSpec> {
  const spec = await makeSpec(change)
  await runtime.deploy(spec)
  await waitFor(() => answersHealthz(spec.port), PATIENCE_MS)
  return spec
}

async function getRecord(dir: string, id: string): Promise<AgentRecord> {
  const record = await findRecord(agentFolder(dir, id))
  if (!record) throw new Error(`no record of ${id}`)
  return record
}

/** An agent may respond before its record is written. */
async function getPid(dir: string, id: string): Promise<number> {
  return until(`the process of ${id}`, async () => (await getRecord(dir, id)).process?.pid)
}

async function isAlive(pid: number): Promise<boolean> {
  return (await table.find([pid])).length === 1
}

/** Lists the leading processes of one agent without the runtime. */
async function listLeaders(dir: string, id: string): Promise<number[]> {
  const rows = await table.listMarked(agentFolder(dir, id).state)
  return rows.filter((row) => row.pid === row.groupId && !row.isFirstInSandbox).map((row) => row.pid)
}

/** Lists every process below `dir`. Linux only. */
async function listAgentProcesses(dir: string): Promise<number[]> {
  if (!hasProc) return []
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(
    pids.map((pid) =>
      readFile(`/proc/${pid}/environ`, 'utf8').then(
        (text) => text.includes(`AGENT_DIR=${dir}`),
        () => false,
      ),
    ),
  )
  return pids.filter((_pid, index) => found[index])
}

/** Returns whether a wanted agent has exactly its recorded process, and another agent none. */
async function isAsRecorded(dir: string, id: string): Promise<boolean> {
  const { desired, process: recorded } = await getRecord(dir, id)
  const expected = desired === 'running' ? [recorded?.pid] : []
  return Bun.deepEquals(await listLeaders(dir, id), expected, true)
}

async function startHost(order: HostOrder, env: Record<string, string> = {}) {
  const host = Bun.spawn({
    cmd: [process.execPath, '--no-env-file', HOST, JSON.stringify(order)],
    env: { PATH: '/usr/bin:/bin', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const reader = host.stdout.getReader()
  await reader.read()
  reader.releaseLock()
  return host
}

function contractFixture(change: Partial<ProcessRuntimeDeps>) {
  return async () => {
    const dir = newDir()
    const runtime = await createRuntime(dir, change)
    // All tests of the contract share the runtime.
    open.delete(runtime)
    return {
      runtime,
      makeSpec,
      logLine: /^agent agent-\d+ listens on \d+$/,
      kill: async (id: string) => void process.kill(await getPid(dir, id), 'SIGKILL'),
      countInstances: async (id: string) => (await listLeaders(dir, id)).length,
      writeState: (id: string, name: string, text: string) => writeFile(join(agentFolder(dir, id).state, name), text),
      readState: (id: string, name: string) => readIfExists(join(agentFolder(dir, id).state, name)),
      dispose: () => runtime.close({ stopAgents: true }),
    }
  }
}

runtimeContract('the process runtime', PATIENCE_MS, contractFixture({}))
runtimeContract(
  'the process runtime without /proc',
  PATIENCE_MS,
  contractFixture({ table: psTable(), isolating: NOT_ISOLATED }),
)

describe('lifetime of agents', () => {
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT'] as const) {
    test(`agents keep running when ${signal} ends the platform's process group, and the next platform adopts them`, async () => {
      const dir = newDir()
      const spec = await makeSpec()
      const host = await startHost({ dir, command: AGENT, specs: [spec], afterwards: 'wait' })
      await waitFor(() => answersHealthz(spec.port), PATIENCE_MS)
      const pid = await getPid(dir, spec.id)
      process.kill(-host.pid, signal)
      await host.exited
      expect(await answersHealthz(spec.port)).toBe(true)

      const runtime = await createRuntime(dir)
      expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'running', restarts: 0 })
      await runtime.deploy(spec)
      expect(await listLeaders(dir, spec.id)).toEqual([pid])

      process.kill(pid, 'SIGKILL')
      await waitFor(async () => (await runtime.inspect(spec.id))?.restarts === 1, PATIENCE_MS)
      await waitFor(() => answersHealthz(spec.port), PATIENCE_MS)
      expect(await listLeaders(dir, spec.id)).toHaveLength(1)
    })
  }

  test(
    'the next platform counts a restart together with its process',
    async () => {
      const spec = await makeSpec()
      const dir = newDir()
      const runtime = await createRuntime(dir)
      await runtime.deploy(spec)
      process.kill(await getPid(dir, spec.id), 'SIGKILL')
      const early: unknown[] = []
      for (;;) {
        const inspection = await runtime.inspect(spec.id)
        if (inspection?.restarts === 1 && inspection.state === 'running') break
        if (inspection?.restarts !== 0) early.push(inspection)
        await new Promise(setImmediate)
      }
      expect(early).toEqual([])
    },
    PATIENCE_MS,
  )

  test('agents keep running when the platform closes', async () => {
    const dir = newDir()
    const spec = await makeSpec()
    const host = await startHost({ dir, command: AGENT, specs: [spec], afterwards: 'close' })
    expect(await host.exited).toBe(0)
    await waitFor(() => answersHealthz(spec.port), PATIENCE_MS)
    await createRuntime(dir)
  })

  test('close rejects later calls, and the next platform can stop an adopted agent', async () => {
    const dir = newDir()
    const first = await createRuntime(dir)
    const spec = await deployHealthy(first)
    const pid = await getPid(dir, spec.id)
    await first.close()
    expect(await isAlive(pid)).toBe(true)
    expect(await first.isAvailable()).toBe(false)
    expect(await first.stop(spec.id).catch((error: unknown) => error)).toMatchObject({ kind: 'unavailable' })

    const second = await createRuntime(dir)
    await second.stop(spec.id)
    expect(await isAlive(pid)).toBe(false)
    await second.close()
    const third = await createRuntime(dir)
    expect(await third.inspect(spec.id)).toMatchObject({ state: 'stopped' })
    expect(await listLeaders(dir, spec.id)).toEqual([])
  })

  test('close with stopAgents stops agents until the platform starts again', async () => {
    const dir = newDir()
    const first = await createRuntime(dir)
    const [wanted, unwanted] = [await deployHealthy(first), await deployHealthy(first)]
    await first.stop(unwanted.id)
    await first.close({ stopAgents: true })
    expect(await listLeaders(dir, wanted.id)).toEqual([])

    const second = await createRuntime(dir)
    await waitFor(() => answersHealthz(wanted.port), PATIENCE_MS)
    expect(await second.inspect(wanted.id)).toMatchObject({ state: 'running', restarts: 0 })
    expect(await second.inspect(unwanted.id)).toMatchObject({ state: 'stopped' })
  })

  test('recover starts an agent when it died while no platform ran', async () => {
    const dir = newDir()
    const first = await createRuntime(dir)
    const spec = await deployHealthy(first)
    await first.close()
    process.kill(await getPid(dir, spec.id), 'SIGKILL')
    await waitFor(async () => (await listLeaders(dir, spec.id)).length === 0, PATIENCE_MS)
    await createRuntime(dir)
    await waitFor(() => answersHealthz(spec.port), PATIENCE_MS)
    expect(await listLeaders(dir, spec.id)).toHaveLength(1)
  })

  test('recover finds a process by its environment when no record names it', async () => {
    const dir = newDir()
    const first = await createRuntime(dir)
    const spec = await deployHealthy(first)
    const pid = await getPid(dir, spec.id)
    await first.close()
    await writeRecord(agentFolder(dir, spec.id), { ...(await getRecord(dir, spec.id)), process: null })
    const second = await createRuntime(dir)
    await waitFor(async () => (await getRecord(dir, spec.id)).process?.pid === pid, PATIENCE_MS)
    expect(await second.inspect(spec.id)).toMatchObject({ state: 'running', restarts: 0 })
    expect(await listLeaders(dir, spec.id)).toEqual([pid])
  })

  test('recover completes a stop when it was interrupted', async () => {
    const dir = newDir()
    const first = await createRuntime(dir)
    const spec = await deployHealthy(first)
    await first.close()
    await writeRecord(agentFolder(dir, spec.id), { ...(await getRecord(dir, spec.id)), desired: 'stopped' })
    const second = await createRuntime(dir)
    await waitFor(async () => (await second.inspect(spec.id))?.state === 'stopped', PATIENCE_MS)
    expect(await listLeaders(dir, spec.id)).toEqual([])
  })

  test.skipIf(!hasProc)(
    `a platform that is killed ${KILLS} times while it deploys, stops and removes leaves no orphan and no duplicate`,
    async () => {
      const dir = newDir()
      const command: [string, string] = ['/bin/sleep', '600']
      const specs = await Promise.all(Array.from({ length: 4 }, () => makeSpec({ secrets: {} })))
      for (let round = 0; round < KILLS; round += 1) {
        const host = await startHost({ dir, command, specs, afterwards: 'disturb' })
        await Bun.sleep(Math.random() * 200)
        host.kill('SIGKILL')
        await host.exited

        const runtime = await createRuntime(dir, { command })
        await waitFor(async () => {
          const states = await Promise.all((await runtime.list()).map(({ id }) => isAsRecorded(dir, id)))
          return !states.includes(false)
        }, PATIENCE_MS)
        const records = await Promise.all((await runtime.list()).map(({ id }) => getRecord(dir, id)))
        const wanted = records.filter(({ desired }) => desired === 'running')
        // A sandbox that is being made has fewer processes, and one that ends more.
        const expected = wanted.length * PROCESSES_PER_AGENT
        await waitFor(async () => (await listAgentProcesses(`${dir}/`)).length === expected, PATIENCE_MS)
        await runtime.close()
        open.delete(runtime)
      }
      const last = await createRuntime(dir, { command })
      await last.close({ stopAgents: true })
      expect(await listAgentProcesses(`${dir}/`)).toEqual([])
    },
    300_000,
  )
})

describe('processes of an agent', () => {
  test('recover ignores a process with a reused pid', async () => {
    const dir = newDir()
    const first = await createRuntime(dir)
    const spec = await deployHealthy(first)
    await first.close({ stopAgents: true })
    const stranger = Bun.spawn({ cmd: ['/bin/sleep', '600'], detached: true, env: {} })
    try {
      const folder = agentFolder(dir, spec.id)
      const record = await getRecord(dir, spec.id)
      await writeRecord(folder, { ...record, process: { pid: stranger.pid, startTime: 'another boot/1' } })
      const second = await createRuntime(dir)
      await waitFor(() => answersHealthz(spec.port), PATIENCE_MS)
      expect(await getPid(dir, spec.id)).not.toBe(stranger.pid)
      await second.close({ stopAgents: true })

      await writeRecord(folder, { ...record, desired: 'stopped', process: { pid: stranger.pid, startTime: '' } })
      const third = await createRuntime(dir)
      await third.stop(spec.id)
      await third.remove(spec.id)
      expect(await isAlive(stranger.pid)).toBe(true)
    } finally {
      stranger.kill('SIGKILL')
      await stranger.exited
    }
  })

  test('stop and a crash end all processes of an agent', async () => {
    const dir = newDir()
    const runtime = await createRuntime(dir)
    const spec = await deployHealthy(runtime)
    const countMarked = async () => withoutSandbox(await table.listMarked(agentFolder(dir, spec.id).state)).length
    await fetch(`http://127.0.0.1:${spec.port}/spawn`)
    await waitFor(async () => (await countMarked()) === 3, PATIENCE_MS)
    expect((await runtime.stats(spec.id)).processes).toBe(3)
    process.kill(await getPid(dir, spec.id), 'SIGKILL')
    await waitFor(async () => (await runtime.inspect(spec.id))?.restarts === 1, PATIENCE_MS)
    await waitFor(() => answersHealthz(spec.port), PATIENCE_MS)
    expect(await countMarked()).toBe(1)
    await fetch(`http://127.0.0.1:${spec.port}/spawn`)
    await runtime.stop(spec.id)
    expect(await countMarked()).toBe(0)
  })
})

describe('stops and restarts', () => {
  test('an agent is not restarted before the next start request when it exits with 78', async () => {
    const dir = newDir()
    const first = await createRuntime(dir)
    const spec = await makeSpec({ environment: { EXIT_CODE: '78' } })
    await first.deploy(spec)
    const exited = { state: 'exited', exitCode: 78, restarts: 0, startedAt: null }
    await waitFor(async () => (await first.inspect(spec.id))?.state === 'exited', PATIENCE_MS)
    await waitFor(async () => (await getRecord(dir, spec.id)).exitCode === 78, PATIENCE_MS)
    await first.close()
    const second = await createRuntime(dir)
    // The restarts of a crashing agent prove that enough time has passed.
    const neighbour = await makeSpec({ environment: { EXIT_CODE: '1' } })
    await second.deploy(neighbour)
    await waitFor(async () => ((await second.inspect(neighbour.id))?.restarts ?? 0) >= 2, PATIENCE_MS)
    expect(await second.inspect(spec.id)).toMatchObject(exited)
    await second.deploy({ ...spec, environment: {} })
    await waitFor(() => answersHealthz(spec.port), PATIENCE_MS)
    expect(await second.inspect(spec.id)).toMatchObject({ state: 'running', exitCode: null })
  })

  test('an agent is restarted with growing delays, which reset after a steady run', async () => {
    const asked: number[] = []
    const backoffMs = (failures: number) => {
      asked.push(failures)
      return 1
    }
    const runtime = await createRuntime(newDir(), { timing: { backoffMs } })
    const spec = await makeSpec({ environment: { EXIT_CODE: '1' } })
    await runtime.deploy(spec)
    await waitFor(async () => asked.length >= 3, PATIENCE_MS)
    expect(asked.slice(0, 3)).toEqual([0, 1, 2])
    await runtime.stop(spec.id)
    asked.length = 0

    const steady = await createRuntime(newDir(), { timing: { backoffMs, steadyMs: 0 } })
    await steady.deploy(await makeSpec({ environment: { EXIT_CODE: '1' } }))
    await waitFor(async () => asked.length >= 3, PATIENCE_MS)
    expect(asked.slice(0, 3)).toEqual([0, 0, 0])
  })

  test('stop kills an agent after its grace period', async () => {
    const runtime = await createRuntime(newDir(), { timing: { stopMs: 200 } })
    const spec = await deployHealthy(runtime, { environment: { AGENT_ID: 'deaf', IGNORE_TERM: '1' } })
    await runtime.stop(spec.id)
    expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'stopped', exitCode: 137 })
    expect(await runtime.logs(spec.id, { tail: 1 })).toEqual(['not now'])
  })

  test('stop ends an agent before its grace period when it has just been started', async () => {
    const runtime = await createRuntime(newDir(), { timing: { stopMs: 60_000 } })
    const startedAt = performance.now()
    for (let round = 0; round < 5; round++) {
      const spec = await makeSpec()
      await runtime.deploy(spec)
      await Bun.sleep(round * 10)
      await runtime.stop(spec.id)
    }
    expect(performance.now() - startedAt).toBeLessThan(50_000)
  }, 300_000)

  test('renew applies a changed environment at once and ignores an equal spec', async () => {
    const dir = newDir()
    const runtime = await createRuntime(dir, { timing: { backoffMs: () => 600_000 } })
    const spec = await deployHealthy(runtime)
    process.kill(await getPid(dir, spec.id), 'SIGKILL')
    await waitFor(async () => (await runtime.inspect(spec.id))?.state === 'restarting', PATIENCE_MS)
    await runtime.renew(spec)
    expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'restarting' })
    await runtime.renew({ ...spec, environment: { ...spec.environment, PLATFORM_URL: 'http://127.0.0.1:2' } })
    await waitFor(() => answersHealthz(spec.port), PATIENCE_MS)
    expect((await getRecord(dir, spec.id)).spec.environment.PLATFORM_URL).toBe('http://127.0.0.1:2')
  })

  test('an agent restarts after a crash when its port is free', async () => {
    const dir = newDir()
    const runtime = await createRuntime(dir, { timing: { backoffMs: () => 400 } })
    const spec = await deployHealthy(runtime)
    process.kill(await getPid(dir, spec.id), 'SIGKILL')
    await waitFor(async () => (await runtime.inspect(spec.id))?.state === 'restarting', PATIENCE_MS)
    await waitFor(async () => !(await answersHealthz(spec.port)), PATIENCE_MS)
    const holder = Bun.serve({ port: spec.port, hostname: '127.0.0.1', fetch: () => new Response('', { status: 418 }) })
    const error = await runtime.start(spec.id).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ kind: 'conflict', extra: { code: 'PORT_TAKEN' } })
    await holder.stop(true)
    await waitFor(() => answersHealthz(spec.port), PATIENCE_MS)
  })

  test('deploy throws and leaves the agent stopped when the command cannot start', async () => {
    const dir = newDir()
    const runtime = await createRuntime(dir, { command: ['/nowhere/agent'] })
    const spec = await makeSpec()
    expect(await runtime.isAvailable()).toBe(false)
    expect(await runtime.deploy(spec).catch((error: unknown) => error)).toMatchObject({ kind: 'internal' })
    expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'stopped' })
  })
})

describe('files of an agent', () => {
  test.skipIf(!hasProc)('an agent gets no environment of the platform', async () => {
    const dir = newDir()
    const spec = await makeSpec({ environment: { AGENT_NAME: 'Ada' } })
    const order: HostOrder = { dir, command: AGENT, specs: [spec], afterwards: 'wait' }
    const host = await startHost(order, { INTERNAL_API_KEY: 'platform-secret', DATABASE_URL: 'file:secret.db' })
    host.kill('SIGKILL')
    await host.exited
    const runtime = await createRuntime(dir)
    // Between fork and exec the environment of a process cannot be read.
    await waitFor(() => answersHealthz(spec.port), PATIENCE_MS)
    const text = await readFile(`/proc/${await getPid(dir, spec.id)}/environ`, 'utf8')
    const environment = Object.fromEntries(
      text
        .split('\0')
        .filter(Boolean)
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    )
    const folder = agentFolder(dir, spec.id)
    expect(environment).toEqual({
      PATH: '/usr/bin:/bin',
      LANG: 'C.UTF-8',
      HOME: folder.state,
      TMPDIR: confinement ? '/tmp' : folder.temporary,
      AGENT_CONFINED: String(confinement !== null),
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      PORT: String(spec.port),
      AGENT_DIR: folder.state,
      BUN_JSC_useJIT: '0',
      AGENT_NAME: 'Ada',
      GATEWAY_TOKEN_FILE: join(folder.secrets, 'GATEWAY_TOKEN'),
    })
    expect(text).not.toContain('gw_0123456789abcdef')
    await runtime.remove(spec.id)
    expect((await readdir(dir)).filter((name) => !name.startsWith('.'))).toEqual([])
  })

  test('folders have mode 0700, files 0600, and only current secrets are stored', async () => {
    const dir = newDir()
    const runtime = await createRuntime(dir)
    const spec = await deployHealthy(runtime, { secrets: { GATEWAY_TOKEN: 'gw_0123456789abcdef', OLD: 'x' } })
    await runtime.deploy({ ...spec, secrets: { GATEWAY_TOKEN: 'gw_0123456789abcdef' } })
    const folder = agentFolder(dir, spec.id)
    for (const path of [folder.dir, folder.secrets, folder.state, folder.temporary]) {
      expect((await stat(path)).mode & 0o777).toBe(0o700)
    }
    for (const path of [folder.record, folder.log, join(folder.secrets, 'GATEWAY_TOKEN')]) {
      expect((await stat(path)).mode & 0o777).toBe(0o600)
    }
    expect(await readdir(folder.secrets)).toEqual(['GATEWAY_TOKEN'])
    expect(await readFile(folder.record, 'utf8')).not.toContain('gw_0123456789abcdef')
  })

  test('a large log is rotated while the agent writes, and is read across both files', async () => {
    const dir = newDir()
    const runtime = await createRuntime(dir, { timing: { maxLogBytes: 1000 } })
    const spec = await deployHealthy(runtime)
    const folder = agentFolder(dir, spec.id)
    const lines = Array.from({ length: 200 }, (_, index) => `line ${index}`)
    await appendFile(folder.log, `${lines.join('\n')}\n`)
    await waitFor(async () => (await stat(folder.log)).size === 0, PATIENCE_MS)
    expect((await stat(folder.olderLog)).size).toBeLessThanOrEqual(1000)
    await runtime.restart(spec.id)
    await waitFor(async () => (await stat(folder.log)).size > 0, PATIENCE_MS)
    const [older, newer] = await runtime.logs(spec.id, { tail: 2 })
    expect(older).toBe('line 199')
    expect(newer).toContain('listens on')
  })

  test('an unreadable record affects no other agent, and a deployment replaces it', async () => {
    const dir = newDir()
    const first = await createRuntime(dir)
    const [broken, sound] = [await deployHealthy(first), await deployHealthy(first)]
    await first.close()
    await writeFile(agentFolder(dir, broken.id).record, '{"desired":')
    const second = await createRuntime(dir)
    expect(await second.inspect(sound.id)).toMatchObject({ state: 'running' })
    expect(await second.inspect(broken.id)).toBeNull()
    await second.deploy(broken)
    await waitFor(() => answersHealthz(broken.port), PATIENCE_MS)
    expect(await listLeaders(dir, broken.id)).toHaveLength(1)
  })
})

test.skipIf(!hasProc)('find lists a process when its main thread has ended', async () => {
  const port = await findFreePort()
  const headless = Bun.spawn({ cmd: [process.execPath, join(PROGRAMS, 'headless-process.ts'), String(port)] })
  onTestFinished(() => headless.kill('SIGKILL'))
  const { pid } = headless
  await until('the end of its first thread', async () =>
    /^State:\tZ/m.test(await readFile(`/proc/${pid}/status`, 'utf8')),
  )
  expect(await table.find([pid])).toMatchObject([{ pid }])
  expect(await isPortFree(port)).toBe(false)
  headless.kill('SIGKILL')
  await until('its end', async () => (await table.find([pid])).length === 0)
  expect(await isPortFree(port)).toBe(true)
})

test.skipIf(!hasProc)('killLeftovers waits until no process is left', async () => {
  const folder = agentFolder(newDir(), 'agent-0')
  const left = Bun.spawn(['sleep', '600'], { env: { AGENT_DIR: folder.state } })
  onTestFinished(() => left.kill('SIGKILL'))
  const [row] = await table.find([left.pid])
  let looks = 0
  // As in the kernel: an ending process loses its environment before its other threads end.
  const find = async (pids: readonly number[]) => {
    if (!row || !pids.includes(left.pid)) return table.find(pids)
    looks += 1
    return looks < 4 ? [row] : table.find(pids)
  }
  await killLeftovers({ ...table, find }, folder, null)
  expect(looks).toBeGreaterThanOrEqual(4)
  await left.exited
  expect(left.signalCode).toBe('SIGKILL')
})

test('findRecord returns a record when it has no image', async () => {
  const dir = newDir()
  const first = await createRuntime(dir)
  const spec = await deployHealthy(first)
  await first.close()
  const file = agentFolder(dir, spec.id).record
  const record = JSON.parse(await readFile(file, 'utf8'))
  delete record.spec.image
  await writeFile(file, JSON.stringify(record))
  const second = await createRuntime(dir)
  expect(await second.inspect(spec.id)).toMatchObject({ state: 'running', image: null, kind: 'stead' })
  const pid = await getPid(dir, spec.id)
  await second.deploy(spec)
  expect(await getPid(dir, spec.id)).toBe(pid)
})

describe('a followed log', () => {
  /** Follows until `isLast` and returns the lines that the test wrote. */
  async function follow(runtime: Runtime, id: string, after: string | null, isLast: (line: RuntimeLogLine) => boolean) {
    const ending = new AbortController()
    const lines: RuntimeLogLine[] = []
    for await (const line of runtime.followLogs(id, { after, signal: ending.signal })) {
      if (/listens on/.test(line.text)) continue
      lines.push(line)
      if (isLast(line)) break
    }
    ending.abort()
    return lines
  }

  test('loses and repeats no line when files are rotated', async () => {
    const dir = newDir()
    const runtime = await createRuntime(dir, { timing: { maxLogBytes: 2000, pollMs: 5 } })
    const spec = await deployHealthy(runtime)
    const { log } = agentFolder(dir, spec.id)
    const total = 400
    const seen: RuntimeLogLine[] = []
    const following = follow(runtime, spec.id, null, (line) => {
      seen.push(line)
      return line.text === `line ${total}`
    })
    // Wait for each line: output written during a truncation may be lost.
    for (let number = 1; number <= total; number += 1) {
      await appendFile(log, `line ${number}\n`)
      if (number % 20 === 0) await waitFor(async () => seen.at(-1)?.text === `line ${number}`, PATIENCE_MS)
    }
    const lines = await following
    expect(lines.map(({ text }) => text)).toEqual(Array.from({ length: total }, (_, index) => `line ${index + 1}`))
    expect((await stat(log)).size).toBeLessThan(2000)
    for (const index of [total - 2, total - 30, total - 60]) {
      const rest = await follow(runtime, spec.id, lines[index]?.cursor ?? '', ({ text }) => text === `line ${total}`)
      expect(rest.map(({ text }) => text)).toEqual(lines.slice(index + 1).map(({ text }) => text))
    }
  })

  test('reports the number of bytes when output was overwritten', async () => {
    const dir = newDir()
    const runtime = await createRuntime(dir, { timing: { maxLogBytes: 500, pollMs: 5 } })
    const spec = await deployHealthy(runtime)
    const { log } = agentFolder(dir, spec.id)
    const [first] = await Array.fromAsync(oneOf(runtime, spec.id))
    for (const name of ['a', 'b', 'c']) {
      await appendFile(log, `${name}${'x'.repeat(600)}\n`)
      await waitFor(async () => (await stat(log)).size === 0, PATIENCE_MS)
    }
    await appendFile(log, 'last\n')
    const rest = await follow(runtime, spec.id, first?.cursor ?? '', ({ text }) => text === 'last')
    expect(rest[0]?.text).toMatch(/^\[\d+ bytes were overwritten before they could be read\]$/)
    expect(rest.at(-1)?.text).toBe('last')
  })

  test('continues at the cursor when an earlier run ended there', async () => {
    const dir = newDir()
    const first = await createRuntime(dir)
    const spec = await deployHealthy(first)
    const { log } = agentFolder(dir, spec.id)
    await appendFile(log, 'one\n')
    const [one] = await follow(first, spec.id, null, ({ text }) => text === 'one')
    await first.close()
    await appendFile(log, 'two\nthree\n')
    const second = await createRuntime(dir)
    const rest = await follow(second, spec.id, one?.cursor ?? '', ({ text }) => text === 'three')
    expect(rest.map(({ text }) => text)).toEqual(['two', 'three'])
  })

  test('splits a line without end at characters and ends the last line when the agent dies', async () => {
    const dir = newDir()
    const runtime = await createRuntime(dir, { timing: { pollMs: 5 } })
    const spec = await deployHealthy(runtime)
    const { log } = agentFolder(dir, spec.id)
    const long = 'é'.repeat(100_000)
    await appendFile(log, `${long}\nlast words`)
    await runtime.stop(spec.id)
    const lines = await follow(runtime, spec.id, null, ({ text }) => text === 'last words')
    expect(lines.length).toBeGreaterThan(3)
    expect(
      lines
        .slice(0, -1)
        .map(({ text }) => text)
        .join(''),
    ).toBe(long)
  })

  test('ends when the agent is removed, and starts anew for its successor', async () => {
    const dir = newDir()
    const runtime = await createRuntime(dir)
    const spec = await deployHealthy(runtime)
    await appendFile(agentFolder(dir, spec.id).log, 'old\n')
    const [old] = await follow(runtime, spec.id, null, ({ text }) => text === 'old')
    const ended = Array.fromAsync(
      runtime.followLogs(spec.id, { after: old?.cursor ?? null, signal: new AbortController().signal }),
    )
    await runtime.remove(spec.id)
    await runtime.deploy(spec)
    expect(await ended).toEqual([])
    await appendFile(agentFolder(dir, spec.id).log, 'new\n')
    const lines = await follow(runtime, spec.id, old?.cursor ?? null, ({ text }) => text === 'new')
    expect(lines.map(({ text }) => text)).toEqual(['new'])
  })

  async function* oneOf(runtime: Runtime, id: string) {
    for await (const line of runtime.followLogs(id, { after: null, signal: new AbortController().signal })) {
      yield line
      return
    }
  }
})

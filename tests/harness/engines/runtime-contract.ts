import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  AgentSpec,
  Runtime,
  RuntimeEvent,
  RuntimeLogLine,
} from '../../../src/adapters/runtimes/contract/runtime.ts'
import { until } from '../until.ts'

/**
 * A runtime under test. `makeSpec` returns a new id and a free port; its agent must answer `GET /healthz` with 200 and
 * write `logLine` when it starts. `kill` ends an agent as a crash would. `countInstances` counts the running instances
 * independently of the runtime. `writeState` and `readState` (null for a missing file) access the agent's data, running
 * or stopped.
 */
export type RuntimeFixture = {
  runtime: Runtime
  makeSpec: (change?: Partial<AgentSpec>) => Promise<AgentSpec>
  logLine: RegExp
  kill: (id: string) => Promise<void>
  countInstances: (id: string) => Promise<number>
  writeState: (id: string, name: string, text: string) => Promise<void>
  readState: (id: string, name: string) => Promise<string | null>
  /** Address of the agents, by default 127.0.0.1. `holdPort` occupies a port there. */
  host?: string
  holdPort?: (port: number) => Promise<{ stop: () => Promise<void> }>
  /** Runs a test under a lock, for runtimes whose tests run in parallel. */
  inTurn?: (run: () => Promise<void>) => Promise<void>
  dispose: () => Promise<void>
}

/** Defines the tests that every runtime must pass. `patienceMs` is the timeout of one step, such as a start. */
export function runtimeContract(name: string, patienceMs: number, create: () => Promise<RuntimeFixture>): void {
  describe(`${name} keeps the contract of runtimes`, () => {
    let fixture: RuntimeFixture
    let runtime: Runtime
    const contractTest = (title: string, run: () => Promise<void>) =>
      test(title, () => (fixture.inTurn ?? ((now) => now()))(run), patienceMs * 4)

    const eventually = (isTrue: () => Promise<boolean>) => waitFor(isTrue, patienceMs)
    const isHealthy = (spec: AgentSpec) => answersHealthz(spec.port, fixture.host)
    const state = async (id: string) => (await runtime.inspect(id))?.state
    const newHealthy = async () => {
      const spec = await fixture.makeSpec()
      await runtime.deploy(spec)
      await eventually(() => isHealthy(spec))
      return spec
    }
    /**
     * Healthy agents with their original spec and no crash, for reuse, because starting an agent is the slowest step.
     */
    const reusable: AgentSpec[] = []
    const deployHealthy = async () => reusable.pop() ?? newHealthy()
    const reuse = (spec: AgentSpec) => void reusable.push(spec)

    beforeAll(async () => {
      fixture = await create()
      runtime = fixture.runtime
    })
    afterAll(() => fixture.dispose())

    contractTest('what an agent has stored is measured, where its folder is not known', async () => {
      if (!runtime.measureStored) return
      const spec = await deployHealthy()
      const bytes = async () => (await runtime.measureStored?.())?.get(spec.id) ?? 0
      const before = await bytes()
      await fixture.writeState(spec.id, 'large.txt', 'x'.repeat(3_000_000))
      expect((await bytes()) - before).toBeGreaterThanOrEqual(3_000_000)
      reuse(spec)
    })

    contractTest('a deployed agent runs, answers on its port and is listed', async () => {
      expect(await runtime.isAvailable()).toBe(true)
      const spec = await newHealthy()
      const found = await runtime.inspect(spec.id)
      expect(found).toMatchObject({ id: spec.id, state: 'running', port: spec.port, exitCode: null, restarts: 0 })
      expect(Math.abs(Date.now() - (found?.startedAt?.getTime() ?? 0))).toBeLessThan(patienceMs)
      expect((await runtime.list()).filter(({ id }) => id === spec.id)).toHaveLength(1)
      reuse(spec)
    })

    contractTest('deploying the same again changes nothing, another spec replaces the agent', async () => {
      const spec = await deployHealthy()
      const before = await runtime.inspect(spec.id)
      await runtime.deploy(structuredClone(spec))
      expect(await runtime.inspect(spec.id)).toEqual(before)
      const moved = { ...spec, port: (await fixture.makeSpec()).port }
      await runtime.deploy(moved)
      await eventually(() => isHealthy(moved))
      expect(await isHealthy(spec)).toBe(false)
      expect(await fixture.countInstances(spec.id)).toBe(1)
      reuse(moved)
    })

    contractTest('another value of a secret replaces the agent', async () => {
      const spec = await deployHealthy()
      const before = await runtime.inspect(spec.id)
      const changed = { ...spec, secrets: { GATEWAY_TOKEN: `gw_${crypto.randomUUID()}` } }
      await runtime.deploy(changed)
      await eventually(() => isHealthy(spec))
      expect((await runtime.inspect(spec.id))?.startedAt).not.toEqual(before?.startedAt)
      expect(await fixture.countInstances(spec.id)).toBe(1)
      reuse(changed)
    })

    contractTest('a stopped agent stays stopped until it is started', async () => {
      const spec = await deployHealthy()
      await runtime.stop(spec.id)
      expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'stopped', startedAt: null, restarts: 0 })
      expect(await fixture.countInstances(spec.id)).toBe(0)
      expect(await isHealthy(spec)).toBe(false)
      await runtime.stop(spec.id)
      await runtime.start(spec.id)
      await eventually(() => isHealthy(spec))
      await runtime.start(spec.id)
      expect(await fixture.countInstances(spec.id)).toBe(1)
      reuse(spec)
    })

    contractTest('restart starts it anew, also when it was stopped', async () => {
      const spec = await deployHealthy()
      const before = await runtime.inspect(spec.id)
      await runtime.restart(spec.id)
      await eventually(() => isHealthy(spec))
      expect((await runtime.inspect(spec.id))?.startedAt).not.toEqual(before?.startedAt)
      await runtime.stop(spec.id)
      await runtime.restart(spec.id)
      await eventually(() => isHealthy(spec))
      expect(await state(spec.id)).toBe('running')
      reuse(spec)
    })

    contractTest('a removed agent is gone, and removing it again is fine', async () => {
      const spec = await deployHealthy()
      await runtime.remove(spec.id)
      await runtime.remove(spec.id)
      expect(await runtime.inspect(spec.id)).toBeNull()
      expect((await runtime.list()).filter(({ id }) => id === spec.id)).toEqual([])
      expect(await fixture.countInstances(spec.id)).toBe(0)
      await runtime.deploy(spec)
      await eventually(() => isHealthy(spec))
      reuse(spec)
    })

    contractTest('an unknown agent is null for inspect, fine for remove, not_found for the rest', async () => {
      const { id } = await fixture.makeSpec()
      expect(await runtime.inspect(id)).toBeNull()
      await runtime.remove(id)
      const calls = [runtime.start(id), runtime.stop(id), runtime.kill(id), runtime.restart(id), runtime.stats(id)]
      const files = [runtime.snapshot(id, '/nowhere/file'), runtime.restore(id, '/nowhere/file')]
      const outcomes = await Promise.allSettled([...calls, ...files, runtime.logs(id, { tail: 1 })])
      for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { kind: 'not_found' } })
    })

    contractTest('a spec that is not valid is refused', async () => {
      const spec = await fixture.makeSpec()
      const bad: Partial<AgentSpec>[] = [
        { id: '../escape' },
        { id: 'Upper' },
        { port: 0 },
        { secrets: { '../TOKEN': 'x' } },
        { environment: { PATH: '/tmp' } },
        { environment: { NAME: 'a\0b' } },
      ]
      for (const change of bad) {
        const error = await runtime.deploy({ ...spec, ...change }).catch((caught: unknown) => caught)
        expect(error).toMatchObject({ kind: 'invalid' })
      }
      expect(await runtime.inspect(spec.id)).toBeNull()
    })

    contractTest('logs are what it wrote, the last lines', async () => {
      const spec = await deployHealthy()
      const logs = () => runtime.logs(spec.id, { tail: 100 })
      await eventually(async () => (await logs()).some((line) => fixture.logLine.test(line)))
      expect(await runtime.logs(spec.id, { tail: 1 })).toEqual((await logs()).slice(-1))
      expect(await runtime.logs(spec.id, { tail: 0 })).toEqual([])
      reuse(spec)
    })

    contractTest('stats are plausible, and refused of a stopped agent', async () => {
      const spec = await deployHealthy()
      const stats = await runtime.stats(spec.id)
      expect(stats.memoryBytes).toBeGreaterThan(256 * 1024)
      expect(stats.memoryLimitBytes).toBe(spec.limits.memoryBytes)
      expect(stats.processes).toBeGreaterThanOrEqual(1)
      expect(stats.uptimeMs).toBeGreaterThanOrEqual(0)
      expect((await runtime.stats(spec.id)).cpuPercent).toBeGreaterThanOrEqual(0)
      await runtime.stop(spec.id)
      const error = await runtime.stats(spec.id).catch((caught: unknown) => caught)
      expect(error).toMatchObject({ kind: 'conflict', extra: { code: 'NOT_RUNNING' } })
    })

    contractTest('a killed agent comes back by itself and the restart is counted', async () => {
      const spec = await deployHealthy()
      await fixture.kill(spec.id)
      await eventually(async () => (await runtime.inspect(spec.id))?.restarts === 1)
      await eventually(() => isHealthy(spec))
      expect(await state(spec.id)).toBe('running')
      expect(await fixture.countInstances(spec.id)).toBe(1)
    })

    contractTest('a stop right after a crash is not undone', async () => {
      const spec = await deployHealthy()
      await fixture.kill(spec.id)
      await runtime.stop(spec.id)
      const other = await deployHealthy()
      await fixture.kill(other.id)
      // The other agent's restart shows that the restart delay has passed.
      await eventually(() => isHealthy(other))
      expect(await state(spec.id)).toBe('stopped')
      // An engine may have begun a restart before the stop; it ends that one afterwards.
      await eventually(async () => (await fixture.countInstances(spec.id)) === 0)
      expect(await state(spec.id)).toBe('stopped')
    })

    contractTest('a kill asked for ends it at once, and it stays down until it is started', async () => {
      const spec = await deployHealthy()
      await runtime.kill(spec.id)
      expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'stopped', startedAt: null })
      expect(await fixture.countInstances(spec.id)).toBe(0)
      await runtime.kill(spec.id)
      await runtime.start(spec.id, { repair: true })
      await eventually(() => isHealthy(spec))
      expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'running', restarts: 0 })
      reuse(spec)
    })

    contractTest('followed logs go on where they were left, over restarts, until the agent is removed', async () => {
      const spec = await newHealthy()
      const first = await followUntil(runtime, spec.id, null, (line) => fixture.logLine.test(line.text))
      const cursor = first.at(-1)?.cursor ?? null
      const lines: RuntimeLogLine[] = []
      const following = collect(runtime.followLogs(spec.id, { after: cursor, signal: noSignal() }), lines)
      await runtime.restart(spec.id)
      await eventually(async () => lines.some((line) => fixture.logLine.test(line.text)))
      await runtime.deploy({ ...spec, secrets: { GATEWAY_TOKEN: 'gw_another' } })
      await eventually(async () => lines.filter((line) => fixture.logLine.test(line.text)).length === 2)
      await runtime.remove(spec.id)
      await following
      const cursors = [...first, ...lines].map((line) => line.cursor)
      expect(new Set(cursors).size).toBe(cursors.length)
      expect(lines.map(({ at }) => at.getTime())).toEqual(lines.map(({ at }) => at.getTime()).sort((a, b) => a - b))
    })

    contractTest('a crash is told to those who watch, an end that was asked for is not', async () => {
      const spec = await deployHealthy()
      const abort = new AbortController()
      const events: RuntimeEvent[] = []
      const watching = collect(runtime.watch(abort.signal), events)
      const reported = () => events.filter(({ id }) => id === spec.id).map(({ type }) => type)
      await runtime.restart(spec.id)
      await eventually(() => isHealthy(spec))
      await fixture.kill(spec.id)
      await eventually(async () => reported().includes('started'))
      expect(reported().filter((type) => type === 'died' || type === 'started')).toEqual(['died', 'started'])
      await runtime.remove(spec.id)
      const other = await deployHealthy()
      await fixture.kill(other.id)
      // The other agent's crash proves that earlier events were delivered.
      await eventually(async () => events.some(({ id, type }) => id === other.id && type === 'died'))
      expect(reported().filter((type) => type === 'died')).toHaveLength(1)
      abort.abort()
      await watching
    })

    contractTest('a snapshot of a stopped agent brings back what it had stored, and nothing else', async () => {
      const spec = await deployHealthy()
      const folder = await mkdtemp(join(tmpdir(), 'stead-contract-'))
      const file = join(folder, 'snapshot.tar.gz')
      try {
        await fixture.writeState(spec.id, 'kept.txt', 'as it was')
        const refusals = await Promise.allSettled([runtime.snapshot(spec.id, file), runtime.restore(spec.id, file)])
        for (const refusal of refusals) {
          expect(refusal).toMatchObject({ reason: { kind: 'conflict', extra: { code: 'RUNNING' } } })
        }
        await runtime.stop(spec.id)
        await runtime.snapshot(spec.id, file)
        expect((await stat(file)).mode & 0o777).toBe(0o600)
        await fixture.writeState(spec.id, 'kept.txt', 'changed')
        await fixture.writeState(spec.id, 'new.txt', 'came later')
        await runtime.restore(spec.id, file)
        expect(await fixture.readState(spec.id, 'kept.txt')).toBe('as it was')
        expect(await fixture.readState(spec.id, 'new.txt')).toBeNull()
        expect(await state(spec.id)).toBe('stopped')
        await runtime.start(spec.id)
        await eventually(() => isHealthy(spec))
        expect(existsSync(`${file}.part`)).toBe(false)
        reuse(spec)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })

    contractTest('what it has stored outlives another spec', async () => {
      const spec = await deployHealthy()
      await fixture.writeState(spec.id, 'kept.txt', 'as it was')
      const changed = { ...spec, environment: { ...spec.environment, AGENT_NAME: `Bo ${crypto.randomUUID()}` } }
      await runtime.deploy(changed)
      await eventually(() => isHealthy(spec))
      expect(await fixture.readState(spec.id, 'kept.txt')).toBe('as it was')
      reuse(changed)
    })

    contractTest('parallel deployments of one agent make one instance', async () => {
      const spec = await fixture.makeSpec()
      await Promise.all([runtime.deploy(spec), runtime.deploy(spec), runtime.deploy(spec)])
      await eventually(() => isHealthy(spec))
      expect(await fixture.countInstances(spec.id)).toBe(1)
      reuse(spec)
    })

    contractTest('calls for one agent are done in the order they were made', async () => {
      const spec = await fixture.makeSpec()
      await Promise.all([runtime.deploy(spec), runtime.stop(spec.id), runtime.start(spec.id), runtime.remove(spec.id)])
      expect(await runtime.inspect(spec.id)).toBeNull()
      expect(await fixture.countInstances(spec.id)).toBe(0)
    })

    contractTest('a port that something else holds is a conflict and starts nothing', async () => {
      const spec = await fixture.makeSpec()
      const holder = await (fixture.holdPort ?? holdPort)(spec.port)
      try {
        const error = await runtime.deploy(spec).catch((caught: unknown) => caught)
        expect(error).toMatchObject({ kind: 'conflict', extra: { code: 'PORT_TAKEN' } })
        expect(await fixture.countInstances(spec.id)).toBe(0)
      } finally {
        await holder.stop()
      }
      await runtime.deploy(spec)
      await eventually(() => isHealthy(spec))
      reuse(spec)
    })

    contractTest('of two agents deployed at once on one port, one is refused', async () => {
      const [one, two] = await Promise.all([fixture.makeSpec(), fixture.makeSpec()])
      const both = await Promise.allSettled([runtime.deploy(one), runtime.deploy({ ...two, port: one.port })])
      const refused = both.filter((result) => result.status === 'rejected')
      expect(refused.map(({ reason }) => reason)).toMatchObject([{ kind: 'conflict', extra: { code: 'PORT_TAKEN' } }])
    })
  })
}

async function collect<T>(source: AsyncIterable<T>, into: T[]): Promise<void> {
  for await (const item of source) into.push(item)
}

async function followUntil(
  runtime: Runtime,
  id: string,
  after: string | null,
  isLast: (line: RuntimeLogLine) => boolean,
) {
  const abort = new AbortController()
  const lines: RuntimeLogLine[] = []
  for await (const line of runtime.followLogs(id, { after, signal: abort.signal })) {
    lines.push(line)
    if (isLast(line)) break
  }
  abort.abort()
  return lines
}

async function holdPort(port: number) {
  const server = Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response('mine', { status: 418 }) })
  return { stop: () => server.stop(true) }
}

function noSignal(): AbortSignal {
  return new AbortController().signal
}

/** Waits until `isTrue`. @throws Error after `timeoutMs`. */
export async function waitFor(isTrue: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  await until(String(isTrue), isTrue, timeoutMs)
}

/** Returns whether an agent answers on this port. */
export async function answersHealthz(port: number, host = '127.0.0.1'): Promise<boolean> {
  try {
    const response = await fetch(`http://${host}:${port}/healthz`, { signal: AbortSignal.timeout(1000) })
    return response.status === 200
  } catch {
    return false
  }
}

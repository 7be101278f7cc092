import { afterAll, describe, expect, test } from 'bun:test'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { extract, pack } from 'tar-stream'
import {
  execIn,
  findEngine,
  importAgent,
  LONG_TIMEOUTS,
  removeAll,
  toConnectCommand,
} from '../../../../tests/harness/engines/engine.ts'
import { deviations } from '../../../../tests/harness/engines/hardened.ts'
import { answersHealthz, runtimeContract } from '../../../../tests/harness/engines/runtime-contract.ts'
import { canStartSwarm, type SwarmNode, startMachine } from '../../../../tests/harness/engines/swarm.ts'
import { findFreePorts } from '../../../../tests/harness/ports.ts'
import { until } from '../../../../tests/harness/until.ts'
import { systemClock } from '../../../core/clock.ts'
import { randomText } from '../../../core/ids.ts'
import { createLog } from '../../../core/log.ts'
import type { AgentSpec, PullProgress, Runtime, RuntimeEvent } from '../contract/runtime.ts'
import { createEngine, type Engine, orNull } from '../engine/engine.ts'
import { createDockerRuntime } from './docker.ts'

const found = await findEngine()
const instance = randomText(12).toLowerCase()
/** For tests that inspect every object of an installation. */
const own = randomText(12).toLowerCase()
const PATIENCE_MS = 300_000
let lastId = 0

describe.skipIf(!found)('Docker runtime', () => {
  if (!found) return test('is skipped when there is no container engine', () => {})
  const { engine, docker, image } = found
  /** Creates an installation's runtime, by default on these tests' engine. */
  const createRuntime = (change: { instance?: string; engine?: Engine } = {}) =>
    createDockerRuntime({
      ...{ engine, instance, ...change },
      ...{ digestKey: 'key', clock: systemClock, log: createLog('silent') },
    })
  const makeSpec = async (change: Partial<AgentSpec> = {}): Promise<AgentSpec> => {
    lastId += 1
    const id = `agent-${lastId}`
    return {
      id,
      image,
      port: await freePort(),
      environment: { AGENT_ID: id },
      secrets: { GATEWAY_TOKEN: 'gw_1' },
      limits: { memoryBytes: 64 * 1024 ** 2, cpus: 1, processes: 32 },
      ...change,
    }
  }
  const readFileIn = async (container: string, path: string): Promise<string | null> => {
    const archive = await orNull(docker.getContainer(container).getArchive({ path }))
    if (!archive) return null
    const unpacked = extract()
    archive.pipe(unpacked)
    for await (const entry of unpacked) return text(entry)
    return null
  }
  const killProcess = async (id: string) => {
    process.kill((await containerOf(id)).State.Pid, 'SIGKILL')
  }
  const containerOf = (id: string) => docker.getContainer(`stead-${instance}-${id}`).inspect()
  const deployHealthy = async (runtime: Runtime, change: Partial<AgentSpec> = {}) => {
    const spec = await makeSpec(change)
    await runtime.deploy(spec)
    await until('the agent answers', () => answersHealthz(spec.port))
    return spec
  }
  const listNames = async (id: string) => {
    const filters = { label: [`stead.instance=${instance}`, `stead.agent=${id}`] }
    return (await docker.listContainers({ all: true, filters })).map(({ Names }) => Names[0]?.slice(1))
  }
  /** Returns whether it has no process and will not be restarted. A restarting container is `Running`. */
  const isDown = async (id: string) => !(await containerOf(id)).State.Running
  const withRuntime = async (
    run: (runtime: Runtime) => Promise<void>,
    change: Parameters<typeof createRuntime>[0] = {},
  ) => {
    const runtime = createRuntime(change)
    try {
      await run(runtime)
    } finally {
      await runtime.close()
    }
  }

  afterAll(() => removeAll(docker, instance))

  runtimeContract('docker', PATIENCE_MS, async () => {
    const runtime = createRuntime()
    return {
      runtime,
      makeSpec,
      logLine: /^agent agent-\d+ listens on 18789$/,
      kill: killProcess,
      countInstances: async (id) =>
        (await docker.listContainers({ filters: { label: [`stead.instance=${instance}`, `stead.agent=${id}`] } }))
          .length,
      writeState: async (id, name, text) => {
        const archive = pack()
        archive.entry({ name, uid: 10_001, gid: 10_001 }, text)
        archive.finalize()
        await docker.getContainer(`stead-${instance}-${id}`).putArchive(Readable.from(archive), { path: '/data' })
      },
      readState: async (id, name) => readFileIn(`stead-${instance}-${id}`, `/data/${name}`),
      dispose: () => runtime.close(),
    }
  })
  describe('a container', () => {
    test('has the restricted profile and shows no secret when it is inspected', () =>
      withRuntime(async (runtime) => {
        const spec = await deployHealthy(runtime, { secrets: { GATEWAY_TOKEN: 'gw_hidden_0815' } })
        const container = await containerOf(spec.id)
        expect(deviations(container, spec, (await docker.info()).NCPU)).toEqual([])
        expect(JSON.stringify(container)).not.toContain('gw_hidden_0815')
        const secret = await execIn(docker, container.Id, ['cat', '/run/secrets/GATEWAY_TOKEN'])
        expect(secret).toEqual({ exitCode: 0, output: 'gw_hidden_0815' })
        expect((await execIn(docker, container.Id, ['ls', '-ln', '/run/secrets'])).output).toContain(
          '-r--------    1 10001',
        )
        expect((await execIn(docker, container.Id, ['id', '-u'])).output.trim()).toBe('10001')
        const write = await execIn(docker, container.Id, ['sh', '-c', 'echo x > /www/x'])
        expect(write).toMatchObject({ exitCode: 1, output: expect.stringContaining('Read-only') })
        expect((await execIn(docker, container.Id, ['sh', '-c', 'echo x > /data/x'])).exitCode).toBe(0)
      }))

    // The other tests' engine may lack a firewall.
    test.skipIf(!canStartSwarm())(
      'is published on this machine only, and cannot connect to other agents or the host',
      async () => {
        await using machine = await startMachine()
        await importAgent(machine.docker)
        await withRuntime(
          async (runtime) => {
            const [one, two] = [await makeSpec(), await makeSpec()]
            await Promise.all([runtime.deploy(one), runtime.deploy(two)])
            const nameOf = (id: string) => `stead-${instance}-${id}`
            const visit = async (host: string, port: number) =>
              (await execIn(machine.docker, nameOf(one.id), toConnectCommand(host, port))).exitCode
            const { NetworkSettings } = await machine.docker.getContainer(nameOf(two.id)).inspect()
            const address = Object.values(NetworkSettings.Networks)[0]?.IPAddress ?? ''
            const gateway = await runtime.platformHost()
            const [local, open] = [await listenOn(machine, '127.0.0.1'), await listenOn(machine, '0.0.0.0')]

            expect(await connects(machine.address, open)).toBe(true)
            expect(await connects(machine.address, one.port)).toBe(false)
            await until('it is up', async () => (await visit('127.0.0.1', 18_789)) === 0)
            expect(await visit(gateway, open)).toBe(0)
            expect(await visit(address, 18_789)).not.toBe(0)
            expect(await visit(gateway, two.port)).not.toBe(0)
            expect(await visit(gateway, local)).not.toBe(0)
          },
          { engine: createEngine(machine.dockerHost, LONG_TIMEOUTS) },
        )
      },
    )

    test('is reported as out of memory and restarts when it exceeds its memory', () =>
      withRuntime(async (runtime) => {
        const eat = 'sleep 1; exec tail /dev/zero'
        const spec = await makeSpec()
        const seen: RuntimeEvent[] = []
        const abort = new AbortController()
        const watching = collect(runtime.watch(abort.signal), seen)
        // The program itself uses the memory, so its end is the container's.
        await runtime.deploy({
          ...spec,
          environment: { ...spec.environment, BE: eat },
          limits: { ...spec.limits, memoryBytes: 16 * 1024 ** 2 },
        })
        await until('it died', () => seen.some(({ id, type }) => id === spec.id && type === 'died'))
        await until('the reason is known', async () => (await runtime.inspect(spec.id))?.isOutOfMemory)
        await until('it was started again', () => seen.some(({ id, type }) => id === spec.id && type === 'started'))
        abort.abort()
        await watching
        await runtime.remove(spec.id)
      }))

    test('stays stopped until the next deployment when its configuration is invalid', () =>
      withRuntime(async (runtime) => {
        const spec = await makeSpec()
        await runtime.deploy({ ...spec, environment: { ...spec.environment, EXIT_CODE: '78' } })
        await until('it is given up', () => isDown(spec.id))
        expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'exited', exitCode: 78, startedAt: null })
        await runtime.stop(spec.id)
        expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'stopped' })
        await runtime.deploy(spec)
        await until('it answers', () => answersHealthz(spec.port))
        expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'running', exitCode: null })
      }))

    test('stays stopped when its configuration becomes invalid between two restarts', async () => {
      const spec = await makeSpec()
      const waitForNextStart = () =>
        until('its next start', async () => !(await orNull(containerOf(spec.id)))?.State.Restarting)
      // The engine's events before the restart have arrived with it.
      const slow: Engine = {
        ...engine,
        async ask(work) {
          const answer = await engine.ask(work)
          await waitForNextStart()
          return answer
        },
      }
      await withRuntime(
        async (runtime) => {
          await runtime.deploy({ ...spec, environment: { ...spec.environment, BE: 'sleep 0.5; exit 78' } })
          await until('it is given up', () => isDown(spec.id))
          expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'exited', exitCode: 78, startedAt: null })
        },
        { engine: slow },
      )
    })

    test('stops when it is killed by other means, and starts when it is deployed again', () =>
      withRuntime(async (runtime) => {
        const spec = await deployHealthy(runtime)
        await docker.getContainer(`stead-${instance}-${spec.id}`).kill()
        await until('it is down', async () => (await runtime.inspect(spec.id))?.state === 'stopped')
        await runtime.deploy(spec)
        await until('it answers', () => answersHealthz(spec.port))
      }))
  })

  describe('a deployment', () => {
    test('keeps the old container when the new one cannot start', () =>
      withRuntime(async (runtime) => {
        const spec = await deployHealthy(runtime)
        const other = await deployHealthy(runtime)
        const failed = runtime.deploy({ ...spec, port: other.port })
        await expect(failed).rejects.toMatchObject({ extra: { code: 'PORT_TAKEN' } })
        await until('the old one answers', () => answersHealthz(spec.port))
        expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'running', port: spec.port })
        expect((await listNames(spec.id)).length).toBe(1)
      }))

    test('throws and changes nothing when the image is missing or is no agent', () =>
      withRuntime(async (runtime) => {
        const spec = await deployHealthy(runtime)
        const before = await runtime.inspect(spec.id)
        await expect(runtime.deploy({ ...spec, image: 'stead-test-nobody-has:1' })).rejects.toMatchObject({
          kind: 'not_found',
          extra: { code: 'IMAGE_NOT_FOUND' },
        })
        await expect(runtime.deploy({ ...spec, image: null })).rejects.toMatchObject({ kind: 'invalid' })
        expect(await runtime.inspect(spec.id)).toEqual(before)
        const pulls: PullProgress[] = []
        const { signal } = new AbortController()
        await runtime.pull(image, (progress) => pulls.push(progress), signal)
        expect(pulls).toEqual([])
        const missing = runtime.pull('localhost:1/nobody/has:1', () => {}, signal)
        await expect(missing).rejects.toMatchObject({ extra: { code: 'IMAGE_NOT_FOUND' } })
      }))

    test('is completed or reverted by the next call when the platform crashes', () =>
      withRuntime(async (runtime) => {
        const spec = await deployHealthy(runtime)
        const moved = { ...spec, port: await freePort() }
        const current = `stead-${instance}-${spec.id}`
        const old = docker.getContainer((await containerOf(spec.id)).Id)
        const createSuccessor = async () => {
          const { Config, HostConfig } = await old.inspect()
          return docker.createContainer({
            name: `${current}.next`,
            Image: Config.Image,
            Labels: { ...Config.Labels, 'stead.port': String(moved.port), 'stead.digest': 'another' },
            Env: Config.Env,
            HostConfig: {
              ...HostConfig,
              PortBindings: { '18789/tcp': [{ HostIp: '127.0.0.1', HostPort: String(moved.port) }] },
            },
          })
        }
        // The successor was only created.
        await createSuccessor()
        expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'running', port: spec.port })
        await runtime.stop(spec.id)
        expect(await listNames(spec.id)).toEqual([current])
        // The old container was renamed.
        await createSuccessor()
        await old.rename({ name: `${current}.previous` })
        expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'stopped', port: spec.port })
        await runtime.start(spec.id)
        expect(await listNames(spec.id)).toEqual([current])
        await until('the old one answers', () => answersHealthz(spec.port))
        await runtime.stop(spec.id)
        // The successor was renamed but not started.
        const unstarted = await createSuccessor()
        await old.rename({ name: `${current}.previous` })
        await unstarted.rename({ name: current })
        expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'stopped', port: spec.port })
        await runtime.start(spec.id)
        expect(await listNames(spec.id)).toEqual([current])
        await runtime.stop(spec.id)
        // The successor was started, so the old container is the leftover.
        const started = await createSuccessor()
        await old.rename({ name: `${current}.previous` })
        await started.rename({ name: current })
        await started.start()
        expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'running', port: moved.port })
        await runtime.deploy(spec)
        expect(await listNames(spec.id)).toEqual([current])
        await until('it answers', () => answersHealthz(spec.port))
      }))

    test('uses the current image of its reference when a stopped agent starts', () =>
      withRuntime(async (runtime) => {
        const name = { repo: 'stead-test-moving', tag: instance }
        const reference = `${name.repo}:${name.tag}`
        await docker.getImage(image).tag(name)
        const spec = await deployHealthy(runtime, { image: reference })
        const before = (await containerOf(spec.id)).Image
        await docker.getImage(reference).remove()
        await runtime.stop(spec.id)
        await runtime.deploy(spec)
        expect((await containerOf(spec.id)).Image).toBe(before)
        await runtime.remove(spec.id)
      }))
  })

  describe('removal of containers', () => {
    const filters = { label: [`stead.instance=${own}`] }
    const listLeft = async () => ({
      containers: (await docker.listContainers({ all: true, filters })).map(({ Names }) => Names[0]),
      volumes: (await docker.listVolumes({ filters })).Volumes.map(({ Name }) => Name),
      networks: (await docker.listNetworks({ filters })).map(({ Name }) => Name),
    })
    const NOTHING = { containers: [], volumes: [], networks: [] }
    const withOwn = (run: (runtime: Runtime) => Promise<void>) => withRuntime(run, { instance: own })

    afterAll(() => removeAll(docker, own))

    test('leaves nothing when the last agent is removed, and the next agent starts', () =>
      withOwn(async (runtime) => {
        const [one, other] = [await deployHealthy(runtime), await deployHealthy(runtime)]
        const address = await runtime.platformHost()
        await runtime.stop(other.id)
        await runtime.remove(one.id)
        await runtime.start(other.id)
        await until('the one that was stopped answers', () => answersHealthz(other.port))
        await runtime.remove(other.id)
        expect(await listLeft()).toEqual(NOTHING)
        // Another network takes the range; ours returns with the address on which the platform listens.
        const { id: another } = await docker.createNetwork({ Name: `another-${own}` })
        const next = await deployHealthy(runtime)
        expect(await runtime.platformHost()).toBe(address)
        await runtime.remove(next.id)
        expect(await listLeft()).toEqual(NOTHING)
        await docker.getNetwork(another).remove()
        const taken = await docker.createNetwork({
          Name: `taken-${own}`,
          IPAM: { Config: [{ Subnet: address.replace(/\d+$/, '0/24') }] },
        })
        const last = await deployHealthy(runtime)
        expect(await runtime.platformHost()).not.toBe(address)
        await runtime.remove(last.id)
        await taken.remove()
      }))

    test('deletes volumes and secrets when containers were removed by other means', () =>
      withOwn(async (runtime) => {
        const spec = await deployHealthy(runtime)
        const takeAway = () => docker.getContainer(`stead-${own}-${spec.id}`).remove({ force: true })
        await takeAway()
        expect((await listLeft()).volumes).toHaveLength(2)
        await runtime.deploy(spec)
        await until('it answers again', () => answersHealthz(spec.port))
        // Its state volume and its current secrets.
        expect((await listLeft()).volumes).toHaveLength(2)
        await takeAway()
        await runtime.remove(spec.id)
        expect(await listLeft()).toEqual(NOTHING)
      }))

    test('keeps the volumes of an agent when it is being created', () =>
      withOwn(async (runtime) => {
        for (let round = 0; round < 5; round++) {
          const [old, next] = [await deployHealthy(runtime), await makeSpec()]
          await Promise.all([runtime.remove(old.id), runtime.deploy(next)])
          await until('the new one answers', () => answersHealthz(next.port))
          await runtime.remove(next.id)
        }
        expect(await listLeft()).toEqual(NOTHING)
      }))
  })

  test('the engine starts no process when a container is idle', () =>
    withRuntime(async (runtime) => {
      const { State, Config } = await containerOf((await deployHealthy(runtime)).id)
      expect(Config.Healthcheck?.Test).toEqual(['NONE'])
      expect(State.Health).toBeUndefined()
    }))

  test('the runtime changes nothing when containers belong to other installations', () =>
    withRuntime(async (runtime) => {
      const spec = await makeSpec()
      const name = `stead-${instance}-${spec.id}`
      const labels: Record<string, string>[] = [
        {},
        { 'stead.instance': instance },
        { 'stead.agent': spec.id },
        { 'stead.instance': 'another', 'stead.agent': spec.id },
      ]
      for (const Labels of labels) {
        const foreign = await docker.createContainer({ name, Image: image, Labels })
        expect(await runtime.inspect(spec.id)).toBeNull()
        await runtime.remove(spec.id)
        const calls = [runtime.start(spec.id), runtime.stop(spec.id), runtime.kill(spec.id), runtime.restart(spec.id)]
        for (const outcome of await Promise.allSettled(calls)) {
          expect(outcome).toMatchObject({ reason: { kind: 'not_found' } })
        }
        expect((await runtime.list()).map(({ id }) => id)).not.toContain(spec.id)
        await foreign.inspect()
        await foreign.remove({ force: true, v: true })
      }
    }))
})

/** Returns a port that stays free between two starts of a container. */
async function freePort(): Promise<number> {
  const [port = 0] = await findFreePorts(1)
  return port
}

/** Listens on an address of this machine. @returns the port. */
async function listenOn(machine: SwarmNode, hostname: string): Promise<number> {
  const code = `console.log(Bun.serve({ hostname: '${hostname}', port: 0, fetch: () => new Response('here') }).port)`
  const { value } = await machine.spawn([process.execPath, '-e', code]).stdout.getReader().read()
  return Number(new TextDecoder().decode(value))
}

async function connects(host: string, port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: host, port, socket: { data() {} } })
    socket.end()
    return true
  } catch {
    return false
  }
}

async function collect<T>(source: AsyncIterable<T>, into: T[]): Promise<void> {
  for await (const item of source) into.push(item)
}

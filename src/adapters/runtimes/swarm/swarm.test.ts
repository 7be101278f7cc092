import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type Docker from 'dockerode'
import { extract, pack } from 'tar-stream'
import { z } from 'zod'
import { execIn, importAgent, LONG_TIMEOUTS } from '../../../../tests/harness/engines/engine.ts'
import { answersHealthz, runtimeContract, waitFor } from '../../../../tests/harness/engines/runtime-contract.ts'
import { canStartSwarm, startSwarm } from '../../../../tests/harness/engines/swarm.ts'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { systemClock } from '../../../core/clock.ts'
import { TaskQueue } from '../../../core/concurrency/keyed-queue.ts'
import { createLog } from '../../../core/log.ts'
import type { AgentSpec } from '../contract/runtime.ts'
import { createEngine, orNull } from '../engine/engine.ts'
import { createSwarmRuntime } from './swarm.ts'

const INSTANCE = 'test'
const AnyTasks = z.array(z.looseObject({ DesiredState: z.string() }))
const PATIENCE_MS = 300_000
/** Long, because the swarm waits for its nodes and for ports. */
const SIDE_BY_SIDE = 4

let lastPort = 19_000

describe.skipIf(!canStartSwarm()).concurrent('swarm runtime', () => {
  runtimeContract('swarm', PATIENCE_MS, async () => {
    const swarm = await startSwarm(1)
    const { docker, dockerHost, address, spawn } = swarm.manager
    const image = await importAgent(docker)
    const runtime = createRuntime(dockerHost)
    const makeSpec = async (change: Partial<AgentSpec> = {}) => toSpec(image, change)
    /** Reads the volume through a container that is never started. */
    const withVolume = async <T>(
      id: string,
      work: (container: ReturnType<typeof docker.getContainer>) => Promise<T>,
    ) => {
      const { Volumes } = await docker.listVolumes({ filters: { label: [`stead.agent=${id}`] } })
      const Mounts = Volumes.map(({ Name }) => ({ Type: 'volume' as const, Source: Name, Target: '/data' }))
      const container = await docker.createContainer({ Image: image, HostConfig: { Mounts } })
      return work(container).finally(() => container.remove())
    }
    const turns = Array.from({ length: SIDE_BY_SIDE }, () => new TaskQueue())
    let lastTurn = 0
    return {
      runtime,
      inTurn(run) {
        lastTurn += 1
        const idle = turns.find(({ isIdle }) => isIdle) ?? turns[lastTurn % turns.length]
        return idle ? idle.run(run) : run()
      },
      makeSpec,
      logLine: /^agent agent-\d+ listens on 18789$/,
      host: address,
      async holdPort(port) {
        const code = `Bun.serve({ port: ${port}, hostname: '127.0.0.1', fetch: () => new Response('mine') }); console.log('ready')`
        const holder = spawn([process.execPath, '-e', code])
        await holder.stdout.getReader().read()
        return {
          async stop() {
            holder.kill()
            await holder.exited
          },
        }
      },
      async kill(id) {
        for (const { Id } of await listContainers(docker, id)) await docker.getContainer(Id).kill()
      },
      countInstances: async (id) => (await listContainers(docker, id)).length,
      writeState: (id, name, text) =>
        withVolume(id, async (container) => {
          const archive = pack()
          archive.entry({ name, uid: 10_001, gid: 10_001 }, text)
          archive.finalize()
          await container.putArchive(await buffer(Readable.from(archive)), { path: '/data' })
        }),
      readState: (id, name) =>
        withVolume(id, async (container) => {
          const archive = await orNull(container.getArchive({ path: `/data/${name}` }))
          if (!archive) return null
          for await (const entry of archive.pipe(extract())) return (await buffer(entry)).toString()
          return null
        }),
      async dispose() {
        await runtime.close()
        await swarm[Symbol.asyncDispose]()
      },
    }
  })
})

describe.skipIf(!canStartSwarm())('swarm runtime', () => {
  let swarm: Awaited<ReturnType<typeof startSwarm>>
  let image: string
  beforeAll(async () => {
    swarm = await startSwarm(1)
    image = await importAgent(swarm.manager.docker)
  }, PATIENCE_MS)
  afterAll(() => swarm?.[Symbol.asyncDispose]())

  test(
    'ends a task when the swarm starts it during a stop',
    async () => {
      using engine = startForgetfulEngine(swarm.manager.dockerHost.replace('unix://', ''))
      const runtime = createRuntime(engine.dockerHost)
      const spec = toSpec(image)
      await runtime.deploy(spec)
      engine.forgetNextEnd()
      await runtime.stop(spec.id)
      expect(engine.reminders()).toBe(1)
      await runtime.start(spec.id)
      await runtime.stop(spec.id)
      engine.forget()
      await waitFor(async () => engine.reminders() === 2, PATIENCE_MS)
      expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'stopped' })
      await runtime.remove(spec.id)
      await runtime.close()
    },
    PATIENCE_MS * 4,
  )

  test(
    'reports no death when an agent stops during a poll',
    async () => {
      using engine = startSlowEngine(swarm.manager.dockerHost.replace('unix://', ''))
      const watching = createRuntime(engine.dockerHost)
      const runtime = createRuntime(swarm.manager.dockerHost)
      const abort = new AbortController()
      const reported: string[] = []
      const reading = (async () => {
        for await (const { id, type } of watching.watch(abort.signal)) reported.push(`${id} ${type}`)
      })()
      const [spec, other] = [toSpec(image), toSpec(image)]
      await Promise.all([spec, other].map((one) => runtime.deploy(one)))
      await engine.looks(2)
      const look = engine.holdNextLook()
      await look.hasBegun
      await runtime.stop(spec.id)
      look.goOn()
      await swarm.manager.docker.getContainer((await getContainer(swarm.manager.docker, other.id)).Id).kill()
      // Its crash proves that earlier events have been reported.
      await waitFor(async () => reported.includes(`${other.id} died`), PATIENCE_MS)
      expect(reported).not.toContain(`${spec.id} died`)
      abort.abort()
      await reading
      await Promise.all([spec, other].map(({ id }) => runtime.remove(id)))
      await Promise.all([watching, runtime].map((one) => one.close()))
    },
    PATIENCE_MS * 4,
  )

  test(
    'gives an agent the restricted profile, no other agent, and no restart when its configuration is invalid',
    async () => {
      const { docker, dockerHost, address } = swarm.manager
      const runtime = createRuntime(dockerHost)
      const one = toSpec(image, { secrets: { GATEWAY_TOKEN: 'gw_1', PLATFORM_TOKEN: 'agt_1' } })
      const other = toSpec(image)
      const bad = toSpec(image, { environment: { AGENT_ID: 'bad', EXIT_CODE: '78' } })
      await Promise.all([one, other, bad].map((spec) => runtime.deploy(spec)))
      await runtime.deploy({ ...one, secrets: { GATEWAY_TOKEN: 'gw_2' } })

      const [container, neighbour] = await Promise.all([getContainer(docker, one.id), getContainer(docker, other.id)])
      expect(container.HostConfig).toMatchObject({
        CapDrop: ['ALL'],
        Privileged: false,
        ReadonlyRootfs: true,
        Init: true,
        Memory: one.limits.memoryBytes,
        NanoCpus: 1_000_000_000,
        PidsLimit: one.limits.processes,
        LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
      })
      expect(container.Config).toMatchObject({
        User: '10001:10001',
        Healthcheck: { Interval: 30e9, Timeout: 5e9, StartPeriod: 20e9, Retries: 5 },
      })
      expect(JSON.stringify(container)).not.toContain('gw_2')
      const secrets = await execIn(docker, container.Id, ['ls', '-ln', '/run/secrets/'])
      expect(secrets.output).toMatch(/-r--------\s+1 10001\s+10001\s+4 .* GATEWAY_TOKEN/)
      expect(secrets.output).not.toContain('PLATFORM_TOKEN')
      expect(await docker.listSecrets()).toHaveLength(3)

      const [network] = Object.entries(neighbour.NetworkSettings.Networks)
      expect(network?.[0]).toBe(`stead-${INSTANCE}-${other.id}`)
      const request = String.raw`printf 'GET /healthz HTTP/1.0\r\n\r\n' | /bin/nc -w 2 ${network?.[1].IPAddress} 18789`
      expect(await execIn(docker, neighbour.Id, ['/bin/sh', '-c', request])).toMatchObject({
        output: expect.stringContaining('200 OK'),
      })
      const refused = await execIn(docker, container.Id, ['/bin/sh', '-c', request])
      expect(refused.exitCode).not.toBe(0)
      expect(refused.output).not.toContain('200 OK')

      await waitFor(async () => (await listTasks(docker, bad.id)) === 0, PATIENCE_MS)
      expect(await runtime.inspect(bad.id)).toMatchObject({ state: 'exited', exitCode: 78, startedAt: null })
      await runtime.deploy({ ...bad, environment: { AGENT_ID: 'bad' } })
      await waitFor(() => answersHealthz(bad.port, address), PATIENCE_MS)

      await runtime.close({ stopAgents: true })
      const next = createRuntime(dockerHost)
      await waitFor(() => answersHealthz(one.port, address), PATIENCE_MS)
      for (const { id } of await next.list()) await next.remove(id)
      await next.close()
      const left = await Promise.all([
        docker.listServices(),
        docker.listSecrets(),
        docker.listContainers({ all: true }),
      ])
      expect(left).toEqual([[], [], []])
      expect((await docker.listVolumes()).Volumes).toEqual([])
      expect((await docker.listNetworks()).filter(({ Name }) => Name.startsWith('stead-'))).toEqual([])
    },
    PATIENCE_MS * 4,
  )
})

/** Starts a proxy in front of the engine at `socket`; `answer` may respond in its place. */
function startEngineBefore(
  socket: string,
  answer: (question: { pathname: string; body: string }, passOn: () => Promise<Response>) => Promise<Response>,
): { dockerHost: string } & Disposable {
  const folder = tempFolder()
  const server = Bun.serve({
    unix: folder.file('docker.sock'),
    async fetch(request, server) {
      server.timeout(request, 0)
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      const body = await request.text()
      const passOn = () =>
        fetch(`http://engine${pathname}${search}`, { unix: socket, method, headers, ...(body && { body }) })
      return answer({ pathname, body }, passOn)
    },
  })
  return {
    dockerHost: `unix://${folder.file('docker.sock')}`,
    [Symbol.dispose]() {
      server.stop(true)
      folder[Symbol.dispose]()
    },
  }
}

/**
 * Simulates a swarm that forgets the end of a task and reports it as wanted until the spec is sent again, as happens by
 * chance in one of some hundred stops of a dying agent.
 */
function startForgetfulEngine(socket: string) {
  let [willForget, hasForgotten, reminders] = [false, false, 0]
  let wanted: object[] = []
  const hearEnd = () => {
    if (hasForgotten) reminders++
    hasForgotten = willForget
    willForget = false
  }
  const { dockerHost, [Symbol.dispose]: stop } = startEngineBefore(socket, async ({ pathname, body }, passOn) => {
    if (/\/services\/\w+\/update$/.test(pathname) && body.includes('"Replicas":0')) hearEnd()
    const answer = await passOn()
    if (!pathname.endsWith('/tasks')) return answer
    const tasks = AnyTasks.parse(await answer.json())
    if (tasks.some(({ DesiredState }) => DesiredState === 'running')) wanted = tasks
    return Response.json(hasForgotten ? wanted : tasks)
  })
  return {
    dockerHost,
    /** Counts repeated specs. */
    reminders: () => reminders,
    forgetNextEnd() {
      willForget = true
    },
    /** Forgets the last end. */
    forget() {
      hasForgotten = true
    },
    [Symbol.dispose]: stop,
  }
}

/** Pauses a poll between reading services and tasks. */
function startSlowEngine(socket: string) {
  let count = 0
  let hold: { begin(): void; isOver: Promise<void> } | null = null
  const { dockerHost, [Symbol.dispose]: stop } = startEngineBefore(socket, async ({ pathname }, passOn) => {
    if (!pathname.endsWith('/tasks')) return passOn()
    count++
    const { begin, isOver } = hold ?? {}
    hold = null
    begin?.()
    await isOver
    return passOn()
  })
  return {
    dockerHost,
    /** Waits for further polls, the last of which may be pending. */
    async looks(more: number) {
      const last = count + more + 1
      await waitFor(async () => count >= last, PATIENCE_MS)
    },
    holdNextLook() {
      const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>()
      const { promise: isOver, resolve: goOn } = Promise.withResolvers<void>()
      hold = { begin, isOver }
      return { hasBegun, goOn }
    },
    [Symbol.dispose]: stop,
  }
}

function createRuntime(dockerHost: string) {
  return createSwarmRuntime({
    engine: createEngine(dockerHost, LONG_TIMEOUTS),
    instance: INSTANCE,
    digestKey: 'key',
    clock: systemClock,
    log: createLog('silent'),
    timing: { pollMs: 200, restartDelayMs: 200 },
  })
}

/** Returns a port that no other agent in the swarm uses. */
function toSpec(image: string, change: Partial<AgentSpec> = {}): AgentSpec {
  lastPort += 1
  const id = `agent-${lastPort}`
  return {
    id,
    image,
    port: lastPort,
    environment: { AGENT_ID: id },
    secrets: { GATEWAY_TOKEN: 'gw_1' },
    limits: { memoryBytes: 64 * 1024 ** 2, cpus: 1, processes: 32 },
    ...change,
  }
}

function listContainers(docker: Docker, agentId: string) {
  const label = [`com.docker.swarm.service.name=stead-${INSTANCE}-${agentId}`]
  return docker.listContainers({ filters: { label } })
}

async function getContainer(docker: Docker, agentId: string) {
  const [found] = await listContainers(docker, agentId)
  if (!found) throw new Error(`${agentId} has no container`)
  return docker.getContainer(found.Id).inspect()
}

async function listTasks(docker: Docker, agentId: string): Promise<number> {
  const filters = { service: [`stead-${INSTANCE}-${agentId}`], 'desired-state': ['running', 'ready'] }
  return (await docker.listTasks({ filters: JSON.stringify(filters) })).length
}

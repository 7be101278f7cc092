import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chownSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readTextFile } from '../../src/adapters/files/files.ts'
import type { AgentSpec, Runtime } from '../../src/adapters/runtimes/contract/runtime.ts'
import { createEngine } from '../../src/adapters/runtimes/engine/engine.ts'
import { createSwarmRuntime } from '../../src/adapters/runtimes/swarm/swarm.ts'
import { systemClock } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { buildAgentImage } from '../harness/engines/built-image.ts'
import { execIn, importAgent } from '../harness/engines/engine.ts'
import { answersHealthz } from '../harness/engines/runtime-contract.ts'
import { canStartSwarm, type SwarmNode, startSwarm } from '../harness/engines/swarm.ts'
import { until } from '../harness/until.ts'

const PATIENCE_MS = 600_000
const UNAVAILABLE = { extra: { code: 'ENGINE_UNAVAILABLE' } }

describe.skipIf(!canStartSwarm())('a swarm of two machines', () => {
  let swarm: Awaited<ReturnType<typeof startSwarm>>
  let runtime: Runtime
  let image: string
  let lastPort = 19_500

  const createRuntime = (node: SwarmNode) =>
    createSwarmRuntime({
      engine: createEngine(node.dockerHost),
      instance: 'chaos',
      digestKey: 'key',
      clock: systemClock,
      log: createLog('silent'),
      timing: { pollMs: 200, restartDelayMs: 200, nodeGraceMs: 1000 },
      filesImages: ['stead-agent:under-test'],
    })
  const makeSpec = (): AgentSpec => {
    lastPort += 1
    const id = `agent-${lastPort}`
    return {
      id,
      image,
      port: lastPort,
      environment: { AGENT_ID: id },
      secrets: { GATEWAY_TOKEN: 'gw_1' },
      limits: { memoryBytes: 64 * 1024 ** 2, cpus: 1, processes: 32 },
    }
  }
  const getWorker = () => {
    const worker = swarm.nodes[1]
    if (!worker) throw new Error('The swarm has one machine only')
    return worker
  }
  /** Drains a node, or activates it again. */
  const drain = async (node: SwarmNode, Availability: 'active' | 'drain') => {
    const { Swarm } = await node.docker.info()
    const found = swarm.manager.docker.getNode(Swarm.NodeID)
    // Docker changes the node's version concurrently.
    await until('the update of the node', async () => {
      const { Version, Spec } = await found.inspect()
      const order = { _query: { version: Version.Index }, _body: { ...Spec, Availability } }
      return found.update(order).then(
        () => true,
        (error: Error) => (/out of sequence/.test(error.message) ? false : Promise.reject(error)),
      )
    })
  }
  const deployOn = async (node: SwarmNode) => {
    const spec = makeSpec()
    const others = swarm.nodes.filter((other) => other !== node)
    for (const other of others) await drain(other, 'drain')
    await runtime.deploy(spec)
    for (const other of others) await drain(other, 'active')
    await until('the agent answers', () => answersHealthz(spec.port, node.address), PATIENCE_MS)
    return spec
  }

  beforeAll(async () => {
    swarm = await startSwarm(2)
    image = await importAgent(swarm.manager.docker)
    // The swarm identifies an image by its content, so every node needs the same one.
    await getWorker().docker.loadImage(await swarm.manager.docker.getImage(image).get())
    runtime = createRuntime(swarm.manager)
  }, PATIENCE_MS)
  afterAll(async () => {
    await runtime?.close()
    await swarm?.[Symbol.asyncDispose]()
  })

  test(
    'files of an agent on this machine are in its volume; for one on another machine its node is reported',
    async () => {
      const here = await deployOn(swarm.manager)
      const files = await runtime.openFiles?.(here.id)
      if (!files || !('root' in files)) throw new Error('There is no folder')
      const { root } = files
      await Bun.write(join(root.base, ...root.below, 'notes.md'), 'hello')
      expect((await readTextFile(root, 'notes.md')).content).toBe('hello')
      const label = [`com.docker.swarm.service.name=stead-chaos-${here.id}`]
      const [container] = await swarm.manager.docker.listContainers({ filters: { label } })
      const read = await execIn(swarm.manager.docker, container?.Id ?? '', ['cat', '/data/workspace/notes.md'])
      expect(read.output).toBe('hello')
      const there = await deployOn(getWorker())
      await expect(runtime.openFiles?.(there.id)).rejects.toMatchObject({
        kind: 'unavailable',
        extra: { code: 'ON_ANOTHER_NODE' },
      })
      await Promise.all([here, there].map(({ id }) => runtime.remove(id)))
    },
    PATIENCE_MS,
  )

  test(
    'a deleted agent leaves no data on any node',
    async () => {
      const built = await buildAgentImage(swarm.manager.dockerHost)
      await getWorker().docker.loadImage(await swarm.manager.docker.getImage(built).get())
      for (const node of swarm.nodes) {
        const spec = await deployOn(node)
        const { Volumes } = await node.docker.listVolumes({ filters: { label: [`stead.agent=${spec.id}`] } })
        const [volume] = Volumes
        if (!volume) throw new Error('The agent has no volume')
        await Bun.write(join(volume.Mountpoint, 'deep', 'memory.json'), 'what it knows')
        chownSync(join(volume.Mountpoint, 'deep'), 10_001, 10_001)
        await runtime.remove(spec.id)
        const left = await node.docker.listVolumes({ filters: { label: [`stead.agent=${spec.id}`] } })
        const files = left.Volumes.flatMap(({ Mountpoint }) => readdirSync(Mountpoint))
        expect({ volumes: left.Volumes.length, files }).toEqual({ volumes: node === swarm.manager ? 0 : 1, files: [] })
      }
      const services = await swarm.manager.docker.listServices()
      expect(services.map(({ Spec }) => Spec?.Name)).toEqual([])
    },
    PATIENCE_MS * 3,
  )

  test(
    'a manager that is frozen or has left its swarm causes no wrong status',
    async () => {
      const spec = await deployOn(swarm.manager)
      const before = await runtime.inspect(spec.id)
      await swarm.manager.signal('SIGSTOP')
      const whileFrozen = await Promise.allSettled([runtime.inspect(spec.id), runtime.list(), runtime.stats(spec.id)])
      await swarm.manager.signal('SIGCONT')
      for (const outcome of whileFrozen) expect(outcome).toMatchObject({ status: 'rejected', reason: UNAVAILABLE })
      await until('the manager answers', () => runtime.isAvailable(), PATIENCE_MS)
      expect(await runtime.inspect(spec.id)).toEqual(before)
      const ofWorker = createRuntime(getWorker())
      expect(await ofWorker.isAvailable()).toBe(false)
      const asWorker = await Promise.allSettled([ofWorker.inspect(spec.id), ofWorker.list()])
      for (const outcome of asWorker) expect(outcome).toMatchObject({ status: 'rejected', reason: UNAVAILABLE })
      await ofWorker.close()
    },
    PATIENCE_MS * 2,
  )

  test(
    'an agent stays on the machine with its files, and moves when that machine is lost',
    async () => {
      const worker = getWorker()
      const spec = await deployOn(worker)
      expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'running', host: worker.address })
      await runtime.restart(spec.id)
      await until('it answers again', () => answersHealthz(spec.port, worker.address), PATIENCE_MS)
      expect(await runtime.inspect(spec.id)).toMatchObject({ state: 'running', host: worker.address })
      const stats = await runtime.stats(spec.id).catch((error: unknown) => error)
      expect(stats).toMatchObject({ kind: 'unavailable', message: 'Figures are only known on its own node' })
      const lines: string[] = []
      for await (const { text } of runtime.followLogs(spec.id, {
        after: null,
        signal: AbortSignal.timeout(PATIENCE_MS),
      })) {
        lines.push(text)
        break
      }
      expect(lines).toEqual([`agent ${spec.id} listens on 18789`])

      await worker.kill()
      const isBack = () => answersHealthz(spec.port, swarm.manager.address)
      await until('it answers on the machine that is left', isBack, PATIENCE_MS)
      const found = await runtime.inspect(spec.id)
      expect(found).toMatchObject({ state: 'running', host: swarm.manager.address })
    },
    PATIENCE_MS * 3,
  )
})

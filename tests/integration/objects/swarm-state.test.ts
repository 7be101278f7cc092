import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, chownSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type Docker from 'dockerode'
import type { AgentSpec, Runtime } from '../../../src/adapters/runtimes/contract/runtime.ts'
import { createEngine } from '../../../src/adapters/runtimes/engine/engine.ts'
import type { VolumeDriver } from '../../../src/adapters/runtimes/swarm/spec.ts'
import { createSwarmRuntime } from '../../../src/adapters/runtimes/swarm/swarm.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { createLog } from '../../../src/core/log.ts'
import { buildAgentImage } from '../../harness/engines/built-image.ts'
import { execIn, importAgent, LONG_TIMEOUTS } from '../../harness/engines/engine.ts'
import { answersHealthz } from '../../harness/engines/runtime-contract.ts'
import { canStartSwarm, type SwarmNode, setAvailability, startSwarm } from '../../harness/engines/swarm.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'

const PATIENCE_MS = 600_000
const AGENT_UID = 10_001

describe.skipIf(!canStartSwarm())('agents on a swarm of two machines', () => {
  let swarm: Awaited<ReturnType<typeof startSwarm>>
  let image: string
  let worker: SwarmNode
  const shared = tempFolder()
  const copies = tempFolder()
  let hasCopy = false

  const createRuntime = (volumeDriver: VolumeDriver | null = null) =>
    createSwarmRuntime({
      engine: createEngine(swarm.manager.dockerHost, LONG_TIMEOUTS),
      instance: volumeDriver ? 'shared' : 'state',
      digestKey: 'key',
      clock: systemClock,
      log: createLog('warn'),
      timing: { pollMs: 200, restartDelayMs: 200, nodeGraceMs: 1000 },
      filesImages: ['stead-agent:under-test'],
      volumeDriver,
      keptStates: {
        async use(agentId, work) {
          if (hasCopy) await work(copies.file(`${agentId}.tar.gz`))
          return hasCopy
        },
      },
    })
  const toSpec = (port: number): AgentSpec => ({
    ...{
      id: `agent-${port}`,
      image,
      port,
      environment: { AGENT_ID: `agent-${port}` },
      secrets: { GATEWAY_TOKEN: 'gw' },
    },
    limits: { memoryBytes: 64 * 1024 ** 2, cpus: 1, processes: 32 },
  })
  const deployOnWorker = async (runtime: Runtime, spec: AgentSpec) => {
    await setAvailability(swarm.manager, swarm.manager, 'drain')
    await runtime.deploy(spec)
    await setAvailability(swarm.manager, swarm.manager, 'active')
    await until('the agent answers', () => answersHealthz(spec.port, worker.address), PATIENCE_MS)
  }

  beforeAll(async () => {
    swarm = await startSwarm(2)
    const [, second] = swarm.nodes
    if (!second) throw new Error('The swarm has one machine only')
    worker = second
    image = await importAgent(swarm.manager.docker)
    const built = await buildAgentImage(swarm.manager.dockerHost)
    for (const reference of [image, built])
      await worker.docker.loadImage(await swarm.manager.docker.getImage(reference).get())
  }, PATIENCE_MS)
  afterAll(async () => {
    await swarm?.[Symbol.asyncDispose]()
    shared[Symbol.dispose]()
    copies[Symbol.dispose]()
  })

  test(
    'files of an agent on another machine are copied while it runs, and restored there',
    async () => {
      const runtime = createRuntime()
      const spec = toSpec(19_701)
      await deployOnWorker(runtime, spec)
      await writeFile(worker.docker, spec.id, 'notes/plan.md', 'tea at four')
      const copy = copies.file('one.tar.gz')
      await runtime.copyState?.(spec.id, copy)
      await writeFile(worker.docker, spec.id, 'notes/plan.md', 'tea at five')
      await expect(runtime.snapshot(spec.id, copies.file('two.tar.gz'))).rejects.toMatchObject({ kind: 'conflict' })
      await runtime.stop(spec.id)
      await runtime.restore(spec.id, copy)
      expect(await readFile(worker.docker, spec.id, 'notes/plan.md')).toEqual(['tea at four'])
      await runtime.start(spec.id)
      await until('it answers', () => answersHealthz(spec.port, worker.address), PATIENCE_MS)
      await runtime.remove(spec.id)
      expect((await swarm.manager.docker.listServices()).map(({ Spec }) => Spec?.Name)).toEqual([])
      await runtime.close()
    },
    PATIENCE_MS,
  )

  test(
    'agents of a lost machine start on the other one with the copies of their files, or all files with a volume driver',
    async () => {
      const runtime = createRuntime()
      const [running, stopped, following] = [toSpec(19_711), toSpec(19_712), toSpec(19_713)]
      chmodSync(shared.path, 0o1777)
      const options = { type: 'none', o: 'bind', device: shared.file('{volume}') }
      const withDriver = createRuntime({ name: 'local', options })
      for (const spec of [running, stopped]) await deployOnWorker(runtime, spec)
      await deployOnWorker(withDriver, following)
      for (const { id } of [running, stopped]) {
        await writeFile(worker.docker, id, 'notes/plan.md', `tea of ${id}`)
        await runtime.copyState?.(id, copies.file(`${id}.tar.gz`))
      }
      const [folder = ''] = readdirSync(shared.path)
      await Bun.write(shared.file(join(folder, 'plan.md')), 'tea of all')
      hasCopy = true
      await runtime.stop(stopped.id)
      await worker.kill()

      await until('the running agent', () => answersHealthz(running.port, swarm.manager.address), PATIENCE_MS)
      expect(await readFile(swarm.manager.docker, running.id, 'notes/plan.md')).toEqual([`tea of ${running.id}`])
      expect(await runtime.inspect(running.id)).toMatchObject({ state: 'running', host: swarm.manager.address })
      await until(
        'the agent with the volume driver',
        () => answersHealthz(following.port, swarm.manager.address),
        PATIENCE_MS,
      )
      const [volume] = (await swarm.manager.docker.listVolumes({ filters: { label: ['stead.instance=shared'] } }))
        .Volumes
      expect(volume?.Options).toEqual({ type: 'none', o: 'bind', device: shared.file(folder) })
      const label = [`com.docker.swarm.service.name=stead-shared-${following.id}`]
      const [container] = await swarm.manager.docker.listContainers({ filters: { label } })
      const read = await execIn(swarm.manager.docker, container?.Id ?? '', ['cat', '/data/plan.md'])
      expect(read.output).toBe('tea of all')
      await withDriver.close()
      await runtime.start(stopped.id)
      await until('the stopped agent', () => answersHealthz(stopped.port, swarm.manager.address), PATIENCE_MS)
      expect(await readFile(swarm.manager.docker, stopped.id, 'notes/plan.md')).toEqual([`tea of ${stopped.id}`])
      await runtime.close()
    },
    PATIENCE_MS,
  )
})

async function findFolders(docker: Docker, agentId: string): Promise<string[]> {
  const { Volumes } = await docker.listVolumes({ filters: { label: [`stead.agent=${agentId}`] } })
  return Volumes.map(({ Mountpoint }) => Mountpoint)
}

/** Writes a file as the agent does. */
async function writeFile(docker: Docker, agentId: string, path: string, text: string): Promise<void> {
  for (const folder of await findFolders(docker, agentId)) {
    await Bun.write(join(folder, path), text)
    for (const made of [dirname(path), path]) chownSync(join(folder, made), AGENT_UID, AGENT_UID)
  }
}

/** Returns the content in each volume of the agent on a machine. */
async function readFile(docker: Docker, agentId: string, path: string): Promise<string[]> {
  const files = (await findFolders(docker, agentId)).map((folder) => Bun.file(join(folder, path)))
  const found = await Promise.all(files.map(async (file) => ((await file.exists()) ? file.text() : null)))
  return found.filter((text) => text !== null)
}

import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { importAgent } from '../../../tests/harness/engines/engine.ts'
import { canStartSwarm, startSwarm } from '../../../tests/harness/engines/swarm.ts'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import type { AgentSpec } from '../../adapters/runtimes/contract/runtime.ts'
import { createDockerRuntime } from '../../adapters/runtimes/docker/docker.ts'
import { createEngine } from '../../adapters/runtimes/engine/engine.ts'
import { createSwarmRuntime } from '../../adapters/runtimes/swarm/swarm.ts'
import { systemClock } from '../../core/clock.ts'
import { createLog } from '../../core/log.ts'
import { endAgents } from './end-agents.ts'

const PATIENCE_MS = 600_000

function toSpec(id: string, image: string, port: number): AgentSpec {
  const limits = { memoryBytes: 64 * 1024 ** 2, cpus: 1, processes: 32 }
  return { id, image, port, environment: { AGENT_ID: id }, secrets: { GATEWAY_TOKEN: 'gw_1' }, limits }
}

describe.skipIf(!canStartSwarm())('endAgents', () => {
  test(
    'ends the containers and swarm services of an installation, and those of no other',
    async () => {
      await using swarm = await startSwarm(1)
      using folder = tempFolder()
      const { docker, dockerHost } = swarm.manager
      const image = await importAgent(docker)
      const partsOf = (instance: string) => ({
        engine: createEngine(dockerHost),
        instance,
        digestKey: 'key',
        clock: systemClock,
        log: createLog('silent'),
        filesImages: [image],
      })
      const runtimes = [
        createDockerRuntime(partsOf('mine')),
        createSwarmRuntime(partsOf('mine')),
        createSwarmRuntime(partsOf('other')),
      ]
      const ids = ['in-container', 'in-swarm', 'of-other']
      for (const [index, runtime] of runtimes.entries())
        await runtime.deploy(toSpec(ids[index] ?? '', image, 19_700 + index))
      await Promise.all(runtimes.map((runtime) => runtime.close()))
      const listRunning = async () => {
        const found = await docker.listContainers({ filters: { label: ['stead.agent'] } })
        return found.map(({ Labels }) => Labels['stead.agent']).sort()
      }
      expect(await listRunning()).toEqual([...ids].sort())

      writeFileSync(folder.file('instance.id'), 'mine')
      expect(await endAgents(folder.path, dockerHost)).toEqual(['in-container', 'in-swarm'])

      expect(await listRunning()).toEqual(['of-other'])
      const services = await docker.listServices()
      const replicas = services.map(({ Spec }) => [Spec?.Labels?.['stead.agent'], Spec?.Mode?.Replicated?.Replicas])
      expect(replicas.sort()).toEqual([
        ['in-swarm', 0],
        ['of-other', 1],
      ])
      expect(await endAgents(folder.path, dockerHost)).toEqual([])
    },
    PATIENCE_MS,
  )
})

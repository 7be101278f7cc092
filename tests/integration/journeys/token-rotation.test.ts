import { describe, expect, test } from 'bun:test'
import type Docker from 'dockerode'
import { z } from 'zod'
import { LABELS } from '../../../src/adapters/runtimes/engine/engine.ts'
import { createAgent, type Person, signUp } from '../../harness/client.ts'
import { execIn, findEngine, removeAll } from '../../harness/engines/engine.ts'
import { importLiveImages } from '../../harness/engines/live-image.ts'
import { canStartSwarm, startSwarm } from '../../harness/engines/swarm.ts'
import { read } from '../../harness/requests.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const PATIENCE_MS = 600_000
const Token = z.object({ token: z.string() })

const engine = await findEngine()

describe.skipIf(engine === null)('agents in containers of one engine', () => {
  test(
    'POST /api/agents/:id/token/rotate and …/platform-token/rotate: the container has the new tokens and keeps its data',
    async () => {
      if (engine) await rotateBoth('docker', engine.docker, { DOCKER_HOST: engine.dockerHost })
    },
    PATIENCE_MS,
  )
})

describe.skipIf(!canStartSwarm())('agents in a swarm', () => {
  test(
    'POST /api/agents/:id/token/rotate and …/platform-token/rotate: the service has the new tokens and keeps its data',
    async () => {
      await using swarm = await startSwarm(1)
      const { docker, dockerHost } = swarm.manager
      // The nodes of the swarm connect from other addresses.
      await rotateBoth('swarm', docker, { DOCKER_HOST: dockerHost, HOST: '0.0.0.0' })
    },
    PATIENCE_MS,
  )
})

/** Rotates both tokens of a running agent, and compares them with those that the agent reads. */
async function rotateBoth(runtime: 'docker' | 'swarm', docker: Docker, environment: Record<string, string>) {
  const { good } = await importLiveImages(docker)
  await using installation = await openInstallation({
    environment: { ...environment, AGENT_RUNTIME: runtime, AGENT_IMAGE: good },
  })
  try {
    const person = await signUp((await installation.start()).urls.web)
    const id = await createAgent(person)
    const inContainer = async (script: string) => {
      const filters = { label: [`${LABELS.agent}=${id}`] }
      const running = await until('one container runs', async () => {
        const found = await docker.listContainers({ filters })
        return found.length === 1 ? found[0] : null
      })
      return (await execIn(docker, running.Id, ['/bin/busybox', 'sh', '-c', script])).output.trim()
    }
    const secret = (name: string) => inContainer(`/bin/busybox cat /run/secrets/${name}`)
    const shown = async () => (await read(Token, person.get(`/api/agents/${id}/token`))).token
    await inContainer('echo mine > /data/mine')
    const before = { gateway: await secret('GATEWAY_TOKEN'), platform: await secret('PLATFORM_TOKEN') }
    expect(await shown()).toBe(before.gateway)

    const { token } = Token.parse(await rotate(person, id, 'token'))
    expect(token).not.toBe(before.gateway)
    expect([await shown(), await secret('GATEWAY_TOKEN')]).toEqual([token, token])
    expect(await secret('PLATFORM_TOKEN')).toBe(before.platform)

    expect(await rotate(person, id, 'platform-token')).toEqual({ success: true, status: 'running' })
    expect(await secret('PLATFORM_TOKEN')).not.toBe(before.platform)
    expect(await secret('GATEWAY_TOKEN')).toBe(token)
    expect(await inContainer('/bin/busybox cat /data/mine')).toBe('mine')
    await person.delete(`/api/agents/${id}`)
  } finally {
    await removeAll(docker, (await Bun.file(`${installation.dataDir}/instance.id`).text()).trim())
  }
}

async function rotate(person: Person, id: string, name: string) {
  const response = await person.post(`/api/agents/${id}/${name}/rotate`, {})
  const body: unknown = await response.json()
  expect({ status: response.status, body }).toMatchObject({ status: 200, body: { status: 'running' } })
  return body
}

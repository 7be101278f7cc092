import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { LABELS } from '../../../src/adapters/runtimes/engine/engine.ts'
import { WebAgentDetail } from '../../../src/features/agents/registry/schemas.ts'
import { createAgent, type Person, signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { buildAgentImage } from '../../harness/engines/built-image.ts'
import { execIn, findEngine } from '../../harness/engines/engine.ts'
import { importLiveImages } from '../../harness/engines/live-image.ts'
import { canStartSwarm, startSwarm } from '../../harness/engines/swarm.ts'
import { openMemoryClient } from '../../harness/remembering.ts'
import { read } from '../../harness/requests.ts'
import { findAgentPids, startServer } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

/** Ends a hanging test. Starting a container takes long on some engines. */
const LIMIT_MS = 600_000
const SLEEPY = { AGENT_SLEEP_MINUTES: '0.05' }
const Updated = z.object({ success: z.literal(true), status: z.literal('running'), backupPath: z.string() })

type Provider = Awaited<ReturnType<typeof startProvider>>

function countQuestions() {
  return startProvider(({ body }) => ({
    text: `Question ${body.messages.filter(({ role }) => role === 'user').length}.`,
  }))
}

function withModels({ baseUrl }: Provider) {
  return { OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: baseUrl }
}

/** Creates an agent, sends it one message, and returns its owner's view. */
async function openAgent(person: Person) {
  const id = await createAgent(person, { model: 'openai/gpt-4o-mini' })
  const status = async () => (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
  const ask = async (message: string) => (await person.post('/api/chat', { agentId: id, message })).json()
  expect(await ask('Remember me')).toMatchObject({ reply: 'Question 1.' })
  return {
    id,
    status,
    ask,
    sleeps: () => until('the agent to sleep', async () => (await status()) === 'sleeping'),
  }
}

test(
  'POST /api/agents/:id/update: 200 updates a sleeping process agent with its data, which sleeps again',
  async () => {
    await using provider = await countQuestions()
    await using server = await startServer({ ...SLEEPY, ...withModels(provider) })
    const person = await signUp(server.urls.web)
    const agent = await openAgent(person)
    await agent.sleeps()
    await until('its process to end', async () => !(await findAgentPids(server.dataDir)).has(agent.id))
    const { backupPath } = await read(Updated, person.post(`/api/agents/${agent.id}/update`, {}))
    expect(existsSync(join(server.dataDir, backupPath))).toBe(true)
    await agent.sleeps()
    expect(await agent.ask('Who am I?')).toMatchObject({ reply: 'Question 2.' })
  },
  LIMIT_MS,
)

const engine = await findEngine()
const left: string[] = []
afterAll(async () => {
  const { docker } = engine ?? {}
  for (const id of left) {
    const containers = await docker?.listContainers({ all: true, filters: { label: [`${LABELS.agent}=${id}`] } })
    for (const { Id } of containers ?? []) await docker?.getContainer(Id).remove({ force: true, v: true })
  }
})

test.skipIf(!engine)(
  'AGENT_RUNTIME=docker: an idle container stops, POST /api/chat starts the same one, and an update keeps data and sleep',
  async () => {
    if (!engine) return
    await using provider = await countQuestions()
    const image = await buildAgentImage(engine.dockerHost)
    const [repo = '', tag = ''] = image.split(':')
    const other = `${repo}-other:${tag}`
    await engine.docker.getImage(image).tag({ repo: `${repo}-other`, tag })
    await using server = await startServer({
      ...SLEEPY,
      ...withModels(provider),
      AGENT_RUNTIME: 'docker',
      DOCKER_HOST: engine.dockerHost,
      AGENT_IMAGE: image,
      AGENT_IMAGES: `${repo},${repo}-other`,
    })
    const person = await signUp(server.urls.web)
    const agent = await openAgent(person)
    left.push(agent.id)
    const filters = { label: [`${LABELS.agent}=${agent.id}`] }
    const running = async () => (await engine.docker.listContainers({ filters })).map(({ Id }) => Id)
    const before = await running()
    expect(before).toHaveLength(1)
    await agent.sleeps()
    await until('no container', async () => (await running()).length === 0)
    expect(await agent.ask('Who am I?')).toMatchObject({ reply: 'Question 2.' })
    expect([await agent.status(), await running()]).toEqual(['running', before])
    await agent.sleeps()
    const updated = await person.post(`/api/agents/${agent.id}/update`, { image: other })
    expect(await updated.json()).toMatchObject({ success: true, image: other, previousImage: image, status: 'running' })
    await agent.sleeps()
    expect(await agent.ask('Who am I?')).toMatchObject({ reply: 'Question 3.' })
    await person.delete(`/api/agents/${agent.id}`)
    await engine.docker.getImage(other).remove()
  },
  LIMIT_MS,
)

describe.skipIf(!canStartSwarm())('agents in a swarm', () => {
  test(
    'AGENT_RUNTIME=swarm: the service of an idle agent has no replica, a request starts it, and an update keeps data and sleep',
    async () => {
      await using swarm = await startSwarm(1)
      const { docker, dockerHost } = swarm.manager
      const { good } = await importLiveImages(docker)
      await using provider = await countQuestions()
      await using server = await startServer({
        ...SLEEPY,
        AGENT_RUNTIME: 'swarm',
        DOCKER_HOST: dockerHost,
        AGENT_IMAGE: good,
        // The nodes of the swarm connect from other addresses.
        HOST: '0.0.0.0',
      })
      const person = await signUp(server.urls.web)
      const id = await createAgent(person)
      const getHealth = async () => (await openMemoryClient(person, provider, id).callAgent('/healthz')).status
      const services = async () =>
        (await docker.listServices()).map(({ ID, Spec }) => ({ ID, replicas: Spec?.Mode?.Replicated?.Replicas }))
      const inContainer = async (script: string) => {
        const [container] = await until('one container', async () => {
          const found = await docker.listContainers()
          return found.length === 1 ? found : null
        })
        return (await execIn(docker, container?.Id ?? '', ['/bin/busybox', 'sh', '-c', script])).output.trim()
      }
      const sleeps = async () => {
        const shown = async () => (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
        await until('the agent to sleep', async () => (await shown()) === 'sleeping')
        await until('no container', async () => (await docker.listContainers()).length === 0)
      }
      await inContainer('echo mine > /data/mine')
      const [running] = await services()
      expect(running?.replicas).toBe(1)
      await sleeps()
      expect(await services()).toEqual([{ ID: running?.ID ?? '', replicas: 0 }])
      expect(await getHealth()).toBe(200)
      expect(await services()).toEqual([{ ID: running?.ID ?? '', replicas: 1 }])
      expect(await inContainer('/bin/busybox cat /data/mine')).toBe('mine')
      await sleeps()
      await read(Updated, person.post(`/api/agents/${id}/update`, {}))
      await sleeps()
      expect(await getHealth()).toBe(200)
      expect(await inContainer('/bin/busybox cat /data/mine')).toBe('mine')
      await person.delete(`/api/agents/${id}`)
    },
    LIMIT_MS,
  )
})

import { afterAll, expect, test } from 'bun:test'
import { LABELS } from '../../src/adapters/runtimes/engine/engine.ts'
import { WebAgentDetail } from '../../src/features/agents/registry/schemas.ts'
import { createAgent, signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { buildAgentImage } from '../harness/engines/built-image.ts'
import { findEngine } from '../harness/engines/engine.ts'
import { read } from '../harness/requests.ts'
import { startServer } from '../harness/server.ts'
import { until } from '../harness/until.ts'

/** A guard against hanging, nothing else: on some engines a container takes long. */
const LIMIT_MS = 600_000

const engine = await findEngine()
const cleaning: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const clean of cleaning) await clean()
})

test.skipIf(!engine)(
  'AGENT_RUNTIME=docker: an idle container is ended, and POST /api/chat starts the same one again',
  async () => {
    if (!engine) return
    const { docker, dockerHost } = engine
    await using provider = await startProvider(({ body }) => ({
      text: `Question ${body.messages.filter(({ role }) => role === 'user').length}.`,
    }))
    await using server = await startServer({
      AGENT_RUNTIME: 'docker',
      DOCKER_HOST: dockerHost,
      AGENT_IMAGE: await buildAgentImage(dockerHost),
      AGENT_SLEEP_MINUTES: '0.05',
      OPENROUTER_API_KEY: 'k',
      OPENROUTER_BASE_URL: provider.baseUrl,
    })
    const person = await signUp(server.urls.web)
    const id = await createAgent(person, { model: 'openai/gpt-4o-mini' })
    cleaning.push(() => removeContainers(id))
    const status = async () => (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
    const filters = { label: [`${LABELS.agent}=${id}`] }
    const running = async () => (await docker.listContainers({ filters })).map(({ Id }) => Id)
    const ask = async (message: string) => (await person.post('/api/chat', { agentId: id, message })).json()

    const before = await running()
    expect(before).toHaveLength(1)
    expect(await ask('Remember me')).toMatchObject({ reply: 'Question 1.' })
    await until('the agent to sleep', async () => (await status()) === 'sleeping')
    await until('no container', async () => (await running()).length === 0)

    expect(await ask('Who am I?')).toMatchObject({ reply: 'Question 2.' })
    expect([await status(), await running()]).toEqual(['running', before])
    await person.delete(`/api/agents/${id}`)
  },
  LIMIT_MS,
)

async function removeContainers(id: string): Promise<void> {
  const { docker } = engine ?? {}
  const left = await docker?.listContainers({ all: true, filters: { label: [`${LABELS.agent}=${id}`] } })
  for (const { Id } of left ?? []) await docker?.getContainer(Id).remove({ force: true, v: true })
}

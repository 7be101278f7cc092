import { describe, expect, test } from 'bun:test'
import { createEngine } from '../../../src/adapters/runtimes/engine/engine.ts'
import { hasImage } from '../../../src/adapters/runtimes/engine/images.ts'
import { VERSION } from '../../../src/core/version.ts'
import { createAgent, signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { openMemoryClient } from '../../harness/remembering.ts'
import { startServer } from '../../harness/server.ts'

const DOCKER_HOST = process.env.DOCKER_HOST ?? '/var/run/docker.sock'
const IMAGE = `stead-agent:${VERSION}`
/** Timeout: starting a container takes seconds, on some engines many. */
const PATIENCE_MS = 300_000
const RUNTIMES = ['docker', 'swarm']

/** Returns the runtimes that the engine supports. */
async function listRuntimes(): Promise<string[]> {
  const engine = createEngine(DOCKER_HOST)
  if (!(await engine.isAnswering()) || !(await hasImage(engine, IMAGE))) return []
  const { Swarm } = await engine.ask((docker) => docker.info())
  return Swarm?.LocalNodeState === 'active' ? ['docker', 'swarm'] : ['docker']
}

const possible = await listRuntimes()
const left = RUNTIMES.filter((runtime) => !possible.includes(runtime))
if (left.length > 0) {
  console.warn(`Memory in containers is not tested with ${left.join(', ')}: that takes an engine with ${IMAGE}.`)
}

describe.each(RUNTIMES)('AGENT_RUNTIME=%s', (runtime) => {
  test.skipIf(!possible.includes(runtime))(
    'memory is shared: each side reads at once what the other stored, and a reset clears both',
    async () => {
      await using provider = await startProvider()
      await using server = await startServer({
        AGENT_RUNTIME: runtime,
        DOCKER_HOST,
        OPENROUTER_API_KEY: 'k',
        OPENROUTER_BASE_URL: provider.baseUrl,
      })
      const person = await signUp(server.urls.web)
      const agentId = await createAgent(person, { model: 'openai/gpt-4o-mini' })
      try {
        const ada = openMemoryClient(person, provider, agentId)
        await ada.save({ drinks: 'tea' })
        expect(await ada.prompt()).toContain('- [drinks] tea')
        await ada.use('remember', { fact: 'The cat is called Bo', name: 'pets' })
        expect(await ada.seen()).toEqual({ drinks: 'tea', pets: 'The cat is called Bo' })
        await ada.forget('pets')
        expect(await ada.prompt()).not.toContain('Bo')
        expect((await ada.reset()).status).toBe(200)
        expect(await ada.seen()).toEqual({})
        expect(await ada.prompt()).not.toContain('What you remember')
      } finally {
        await person.delete(`/api/agents/${agentId}`)
      }
    },
    PATIENCE_MS,
  )
})

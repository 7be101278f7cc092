import { describe, expect, test } from 'bun:test'
import { AgentStatusEvent } from '../../src/features/agents/registry/schemas.ts'
import { createAgent, type Person, signUp } from '../harness/client.ts'
import { findEngine, importAgent, removeAll } from '../harness/engines/engine.ts'
import { canStartSwarm, startSwarm } from '../harness/engines/swarm.ts'
import { findAgentPids, startServer } from '../harness/server.ts'
import { readEvents } from '../harness/wires/events.ts'

const PATIENCE_MS = 600_000

/** Longer than a restart and its detection on the slowest machine. */
const BACK_MS = 180_000

type Reported = { status: string; error: string | null; afterMs: number }

/**
 * Records the status changes that an owner sees from the kill until the agent runs again. @throws Error with the
 * recorded changes when it does not run again.
 */
async function followKill(person: Person, id: string, kill: () => Promise<unknown>): Promise<Reported[]> {
  const reported: Reported[] = []
  const { promise: late, reject } = Promise.withResolvers<never>()
  const giveUp = () => reject(new Error(`Not reported as running again, only ${JSON.stringify(reported)}`))
  const timer = setTimeout(giveUp, BACK_MS)
  try {
    await Promise.race([hearKill(person, id, kill, reported), late])
  } finally {
    clearTimeout(timer)
  }
  console.log(`killed: ${reported.map(({ status, afterMs }) => `${status} after ${afterMs} ms`).join(', ')}`)
  return reported
}

async function hearKill(person: Person, id: string, kill: () => Promise<unknown>, reported: Reported[]): Promise<void> {
  let killedAt = 0
  for await (const { data } of readEvents(await person.get(`/api/agents/${id}/events`))) {
    const { status, error } = AgentStatusEvent.parse(JSON.parse(data))
    if (killedAt === 0) {
      expect(status).toBe('running')
      killedAt = performance.now()
      await kill()
      continue
    }
    reported.push({ status, error, afterMs: Math.round(performance.now() - killedAt) })
    if (status === 'running') return
  }
}

test(
  'the owner sees at once that a killed process agent is down, why, and when it runs again',
  async () => {
    await using server = await startServer()
    const person = await signUp(server.urls.web)
    const id = await createAgent(person)
    const reported = await followKill(person, id, async () => {
      process.kill((await findAgentPids(server.dataDir)).get(id) ?? 0, 'SIGKILL')
    })
    expect(reported[0]?.status).toBe('error')
    expect(reported.map(({ error }) => error)).toContain('It ended with exit code 137, and is being started again')
    expect(reported.at(-1)).toMatchObject({ status: 'running', error: null })
  },
  PATIENCE_MS,
)

const engine = await findEngine()

describe.skipIf(engine === null)('agents in containers', () => {
  test(
    'the owner sees at once that a killed agent is down, and when it runs again',
    async () => {
      if (!engine) return
      await using server = await startServer({
        AGENT_RUNTIME: 'docker',
        DOCKER_HOST: engine.dockerHost,
        AGENT_IMAGE: engine.image,
      })
      const person = await signUp(server.urls.web)
      const id = await createAgent(person)
      const [container] = await engine.docker.listContainers({ filters: { label: [`stead.agent=${id}`] } })
      try {
        const pid = (await engine.docker.getContainer(container?.Id ?? '').inspect()).State.Pid
        const reported = await followKill(person, id, async () => process.kill(pid, 'SIGKILL'))
        expect(reported[0]).toMatchObject({ status: 'error', error: expect.stringMatching(/^It ended/) })
        expect(reported.at(-1)).toMatchObject({ status: 'running', error: null })
      } finally {
        await removeAll(engine.docker, container?.Labels['stead.instance'] ?? '')
      }
    },
    PATIENCE_MS,
  )
})

describe.skipIf(!canStartSwarm())('agents in a swarm', () => {
  test(
    'the owner sees at once that a killed agent is down, and when it runs again',
    async () => {
      await using swarm = await startSwarm(1)
      const { docker, dockerHost } = swarm.manager
      await using server = await startServer({
        AGENT_RUNTIME: 'swarm',
        DOCKER_HOST: dockerHost,
        AGENT_IMAGE: await importAgent(docker),
        // The agents' network is on another machine, which connects to any of this one's addresses.
        HOST: '0.0.0.0',
      })
      const person = await signUp(server.urls.web)
      const id = await createAgent(person)
      const [container] = await docker.listContainers({ filters: { label: [`stead.agent=${id}`] } })
      const reported = await followKill(person, id, () => docker.getContainer(container?.Id ?? '').kill())
      expect(reported[0]).toMatchObject({ status: 'error', error: expect.stringMatching(/^It ended/) })
      expect(reported.at(-1)).toMatchObject({ status: 'running', error: null })
      expect((await person.delete(`/api/agents/${id}`)).status).toBe(200)
    },
    PATIENCE_MS,
  )
})

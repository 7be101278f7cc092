import { expect, test } from 'bun:test'
import { z } from 'zod'
import { WebAgentDetail } from '../../../src/features/agents/registry/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../../harness/client.ts'
import { type ProviderDouble, startProvider } from '../../harness/doubles/provider.ts'
import { json, read } from '../../harness/requests.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { withProvider } from './main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 300_000
/** 1.2 s. */
const SLEEPY = { AGENT_SLEEP_MINUTES: '0.02' }
/** Number of kills of the platform: `SLEEP_KILLS`, 30 in `bun run stress sleep`. */
const ROUNDS = roundsOf('SLEEP_KILLS', 1)
const NEVER = { AGENT_SLEEP_MINUTES: '0' }

const Sent = z.object({ reply: z.string() })
const Token = z.object({ token: z.string() })

async function statusOf(person: Person, id: string): Promise<string> {
  return (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
}

function fallsAsleep(person: Person, id: string): Promise<unknown> {
  return until('the agent to sleep', async () => (await statusOf(person, id)) === 'sleeping')
}

async function ask(person: Person, agentId: string, message: string): Promise<string> {
  const response = await person.post('/api/chat', { agentId, message })
  expect([response.status, message]).toEqual([200, message])
  return Sent.parse(await response.json()).reply
}

/** Sends messages in separate conversations. @returns the status of each, and whether it got a reply. */
async function askAtOnce(person: Person, id: string, count: number): Promise<[number, boolean][]> {
  const { token } = await read(Token, person.get(`/api/agents/${id}/token`))
  const question = { model: 'default', messages: [{ role: 'user', content: 'Hello' }] }
  return Promise.all(
    Array.from({ length: count }, async (_, index): Promise<[number, boolean]> => {
      const headers = {
        host: `${id}.agents.localhost`,
        authorization: `Bearer ${token}`,
        'x-session-key': `caller-${index}`,
      }
      const response = await fetch(`${person.web}/v1/chat/completions`, json('POST', question, headers))
      return [response.status, JSON.stringify(await response.json()).includes('Question 1.')]
    }),
  )
}

/** Replies with the number of user messages in the conversation. */
function startCountingProvider(): Promise<ProviderDouble> {
  return startProvider(({ body }) => {
    const questions = body.messages.filter(({ role }) => role === 'user').length
    return { text: `Question ${questions}.` }
  })
}

test(
  'an idle agent sleeps without a process, and POST /api/chat wakes it once for 50 concurrent messages, with its memory',
  async () => {
    await using provider = await startCountingProvider()
    await using installation = await openInstallation({ environment: { ...withProvider(provider), ...SLEEPY } })
    const program = await installation.start()
    const person = await signUp(program.urls.web)
    const id = await createAgent(person)
    expect(await ask(person, id, 'Remember me')).toBe('Question 1.')
    await fallsAsleep(person, id)
    await until('no process', async () => (await installation.agentPids()).size === 0)

    expect(await ask(person, id, 'Who am I?')).toBe('Question 2.')
    expect(await statusOf(person, id)).toBe('running')
    expect((await installation.agentPids()).size).toBe(1)

    // A sleeping agent does not count as down.
    await fallsAsleep(person, id)
    const { lastError } = (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent
    expect(lastError).toBeNull()
    const health = await fetch(`${program.urls.backend}/health`)
    expect(await health.json()).toMatchObject({ status: 'ok' })

    const countWoken = () => program.lines.filter((line) => line.includes('"agent woke"')).length
    const woken = countWoken()
    expect(await askAtOnce(person, id, 50)).toEqual(Array.from({ length: 50 }, () => [200, true]))
    await until('the log line of the wake-up', () => countWoken() > woken)
    expect(countWoken() - woken).toBe(1)
  },
  LIMIT_MS,
)

test(
  'a platform that was killed while agents slept and woke starts with a consistent state, and no sleeping agent runs',
  async () => {
    await using provider = await startCountingProvider()
    await using installation = await openInstallation({ environment: { ...withProvider(provider), ...SLEEPY } })
    let program = await installation.start()
    let person = await signUp(program.urls.web)
    const ids = [await createAgent(person, { name: 'Ada' }), await createAgent(person, { name: 'Bo' })]
    for (let round = 0; round < ROUNDS; round++) {
      // Killed shortly before, during or after waking.
      const waking = ids.map((agentId) => person.post('/api/chat', { agentId, message: 'Wake' }).catch(() => null))
      await Bun.sleep(Math.random() * 400)
      await program.kill()
      await Promise.all(waking)
      program = await installation.start(NEVER)
      person = await signIn(program.urls.web)
      const running = await until('rows and processes to agree', async () => {
        const pids = await installation.agentPids()
        const statuses = await Promise.all(ids.map((id) => statusOf(person, id)))
        const agree = ids.every((id, index) => pids.has(id) === (statuses[index] === 'running'))
        return agree && statuses.every((status) => status === 'running' || status === 'sleeping') ? statuses : null
      })
      expect(running).toHaveLength(2)
      for (const id of ids) await ask(person, id, `Round ${round}`)
      expect((await installation.agentPids()).size).toBe(2)
      await program.stop()
      program = await installation.start()
      person = await signIn(program.urls.web)
      for (const id of ids) await fallsAsleep(person, id)
      await until('no process', async () => (await installation.agentPids()).size === 0)
      // Starting wakes no agent.
      await program.stop()
      program = await installation.start()
      person = await signIn(program.urls.web)
      for (const id of ids) expect(await statusOf(person, id)).toBe('sleeping')
      expect((await installation.agentPids()).size).toBe(0)
    }
  },
  LIMIT_MS,
)

import { expect, test } from 'bun:test'
import { z } from 'zod'
import { ChatTurn } from '../../src/features/conversations/chat/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../harness/client.ts'
import { type ProviderDouble, startProvider } from '../harness/doubles/provider.ts'
import { json } from '../harness/requests.ts'
import { type Installation, openInstallation, type Program } from '../harness/server.ts'
import { until } from '../harness/until.ts'
import { withProvider } from '../integration/journeys/main-job.ts'

/** Number of kills of each program; `bun run stress turns` raises it. */
const KILLS = Number(process.env.TURN_KILLS ?? 2)
/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 300_000 + KILLS * 60_000
/** Maximum delay of a reply, so that kills happen before, during and after it. */
const MAX_THINKING_MS = 400
const MAX_KILL_MS = 900

const OneTurn = z.object({ turn: ChatTurn })
const History = z.object({
  messages: z.array(
    z.object({
      sender: z.enum(['user', 'agent']),
      content: z.string(),
      status: z.string(),
      turn: z.object({ restarts: z.number() }).nullish(),
    }),
  ),
})

const questionOf = (round: number) => `Question ${round}!`
const answerOf = (round: number) => `This is the whole answer to question ${round}.`

/** Starts a slow model that repeats the message in its reply. */
async function startThinkingProvider(killed: ReadonlySet<number>): Promise<ProviderDouble> {
  return startProvider(async ({ body }) => {
    await Bun.sleep(Math.random() * MAX_THINKING_MS)
    const round = Number(/Question (\d+)!/.exec(JSON.stringify(body.messages.at(-1)))?.[1])
    const text = answerOf(round).split(/(?<= )/)
    // Every second reply pauses in the middle until the kill, so that one is certainly interrupted.
    return round % 2 === 0 || killed.has(round) ? { text } : { text, fault: { hangAfterEvents: 3 } }
  })
}

/** Sends a message with the same idempotency key until it is accepted. */
async function ask(person: () => Promise<Person>, agentId: string, round: number): Promise<string> {
  const body = { agentId, message: questionOf(round) }
  const taken = await until(`message ${round} to be accepted`, async () => {
    const { web, cookie } = await person()
    const headers = { ...cookie, 'idempotency-key': `round-${round}`, prefer: 'respond-async' }
    const response = await fetch(`${web}/api/chat`, json('POST', body, headers)).catch(() => null)
    if (response?.status !== 202) return null
    return OneTurn.parse(await response.json())
  })
  return taken.turn.id
}

async function endOf(person: Person, id: string): Promise<ChatTurn> {
  return until(`the end of ${id}`, async () => {
    const response = await person.get(`/api/chat/turns/${id}`)
    const { turn } = OneTurn.parse(await response.json())
    return turn.state === 'running' ? null : turn
  })
}

/** Checks that every message exists once with one complete reply, including interrupted turns. */
async function expectWhole(person: Person, provider: ProviderDouble, rounds: number): Promise<string> {
  const { messages } = History.parse(await (await person.get('/api/chat?limit=100')).json())
  const tally = { answered: 0, askedAgain: 0 }
  for (let round = 1; round <= rounds; round++) {
    const at = messages.flatMap(({ content }, index) => (content === questionOf(round) ? [index] : []))
    expect([round, at.length]).toEqual([round, 1])
    const asked = messages[at[0] ?? 0]
    const next = messages[(at[0] ?? 0) + 1]
    const reply = next?.sender === 'agent' ? next : undefined
    expect(asked?.status).toBe('sent')
    expect(reply).toMatchObject({ content: answerOf(round), status: 'sent' })
    const restarts = reply?.turn?.restarts ?? 0
    tally[restarts > 0 ? 'askedAgain' : 'answered']++
    const calls = provider.chats.filter(({ body }) => JSON.stringify(body.messages.at(-1)).includes(questionOf(round)))
    // An interrupted turn calls the model again.
    expect(calls.length).toBeLessThanOrEqual(1 + restarts)
  }
  expect(messages.filter(({ sender }) => sender === 'user')).toHaveLength(rounds)
  return JSON.stringify(tally)
}

async function openTestInstallation(
  provider: ProviderDouble,
): Promise<{ installation: Installation; program: Program; agentId: string }> {
  const installation = await openInstallation({ environment: withProvider(provider) })
  const program = await installation.start()
  const agentId = await createAgent(await signUp(program.urls.web), { model: 'openai/gpt-4o-mini' })
  return { installation, program, agentId }
}

test(
  `no turn is lost or answered twice when the platform is killed ${KILLS} times during turns`,
  async () => {
    const killed = new Set<number>()
    await using provider = await startThinkingProvider(killed)
    const opened = await openTestInstallation(provider)
    await using installation = opened.installation
    let { program } = opened
    for (let round = 1; round <= KILLS; round++) {
      const before = await signIn(program.urls.web)
      const asking = ask(async () => before, opened.agentId, round).catch(() => null)
      await Bun.sleep(Math.random() * MAX_KILL_MS)
      killed.add(round)
      await program.kill()
      program = await installation.start()
      const person = await signIn(program.urls.web)
      const id = (await Promise.race([asking, null])) ?? (await ask(async () => person, opened.agentId, round))
      expect(['done', 'failed']).toContain((await endOf(person, id)).state)
    }
    console.info(
      `platform killed ${KILLS} times: ${await expectWhole(await signIn(program.urls.web), provider, KILLS)}`,
    )
  },
  LIMIT_MS,
)

test(
  `no turn is lost or answered twice when the agent is killed ${KILLS} times during turns`,
  async () => {
    const killed = new Set<number>()
    await using provider = await startThinkingProvider(killed)
    const { installation: opened, program, agentId } = await openTestInstallation(provider)
    await using installation = opened
    const person = await signIn(program.urls.web)
    for (let round = 1; round <= KILLS; round++) {
      const id = await ask(async () => person, agentId, round)
      await Bun.sleep(Math.random() * MAX_KILL_MS)
      const pid = (await installation.agentPids()).get(agentId)
      if (pid === undefined) throw new Error('The agent has no process')
      killed.add(round)
      process.kill(pid, 'SIGKILL')
      await person.post(`/api/agents/${agentId}/restart`, {})
      expect(['done', 'failed']).toContain((await endOf(person, id)).state)
      await until('the agent', async () => {
        const { agent } = z
          .object({ agent: z.object({ status: z.string() }) })
          .parse(await (await person.get(`/api/agents/${agentId}`)).json())
        return agent.status === 'running'
      })
    }
    console.info(`agent killed ${KILLS} times: ${await expectWhole(person, provider, KILLS)}`)
  },
  LIMIT_MS,
)

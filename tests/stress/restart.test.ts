import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { ProvisionResponse, WebAgentDetail } from '../../src/features/agents/registry/schemas.ts'
import { MessageList, SentMessage } from '../../src/features/conversations/chat/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { findFreePorts } from '../harness/ports.ts'
import { json, read } from '../harness/requests.ts'
import { openInstallation } from '../harness/server.ts'
import { tempFolder } from '../harness/temp-folder.ts'
import { until } from '../harness/until.ts'
import { readEvents } from '../harness/wires/events.ts'
import { answerLikeAModel, withProvider } from '../integration/journeys/main-job.ts'

const HELD_AGENT = join(import.meta.dir, '..', 'harness', 'programs', 'held-agent.ts')
const MODEL = 'openai/gpt-4o-mini'

async function statusOf(person: Person, id: string): Promise<string> {
  return (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
}

test.each(['stop', 'kill'] as const)(
  'a deployment is only delayed by a %s',
  async (end) => {
    using folder = tempFolder()
    const gate = folder.file('gate')
    const command = [process.execPath, HELD_AGENT, gate].map((word) => `"${word}"`).join(' ')
    await using installation = await openInstallation({
      environment: { AGENT_ISOLATION: 'off', AGENT_PROCESS_COMMAND: command },
    })
    const program = await installation.start()
    const person = await signUp(program.urls.web)
    const request = json('POST', { name: 'Ada' }, { ...person.cookie, prefer: 'respond-async' })
    const { agent } = await read(ProvisionResponse, fetch(`${program.urls.web}/api/agents/provision`, request))
    for await (const { data } of readEvents(await person.get(`/api/agents/${agent.id}/events`)))
      if (data.includes('"health"')) break
    await program[end]()

    await installation.start()
    expect(await statusOf(person, agent.id)).toBe('provisioning')
    await Bun.write(gate, '')
    await until('the end of the deployment', async () => (await statusOf(person, agent.id)) === 'running')
    expect((await installation.agentPids()).size).toBe(1)
  },
  300_000,
)

test('a running turn is answered, with all its calls, when the service is asked to stop', async () => {
  await using provider = await startProvider()
  await using installation = await openInstallation({ environment: withProvider(provider) })
  const program = await installation.start()
  const person = await signUp(program.urls.web)
  const agentId = await createAgent(person, { model: MODEL })
  const isStopping = Promise.withResolvers<void>()
  provider.answerWith(async (request) => {
    await isStopping.promise
    return answerLikeAModel(request)
  })
  const asking = person.post('/api/chat', { agentId, message: 'Please keep a note' })
  await until('the call at the provider', () => provider.chats.length > 0)
  const stopping = program.stop()
  await until('the log line of the shutdown', () => program.lines.some((line) => line.includes('stopping')))
  isStopping.resolve()
  expect(await read(SentMessage, asking)).toMatchObject({ reply: 'The note says: Tea at four.' })
  expect((await stopping).exitCode).toBe(0)

  const again = await installation.start()
  const { messages } = await read(MessageList, (await signIn(again.urls.web)).get('/api/chat'))
  expect(messages.map(({ status }) => status)).toEqual(['sent', 'sent'])
}, 300_000)

test('agents find the service again when it restarts on other ports', async () => {
  await using provider = await startProvider(answerLikeAModel)
  await using installation = await openInstallation({ environment: withProvider(provider) })
  const program = await installation.start()
  const agentId = await createAgent(await signUp(program.urls.web), { model: MODEL })
  await program.stop()

  const [web, backend, summarizer] = await findFreePorts(3)
  const ports = { WEB_PORT: `${web}`, BACKEND_PORT: `${backend}`, SUMMARIZER_PORT: `${summarizer}` }
  const person = await signIn((await installation.start(ports)).urls.web)
  const reply = await until('an answer of the agent', async () => {
    const response = await person.post('/api/chat', { agentId, message: 'Hello again' })
    return response.ok ? read(SentMessage, response) : null
  })
  expect(reply.reply).toBe('You said: Hello again')
}, 300_000)

test('a killed agent restarts automatically and keeps its memory', async () => {
  await using provider = await startProvider(answerLikeAModel)
  await using installation = await openInstallation({ environment: withProvider(provider) })
  const person = await signUp((await installation.start()).urls.web)
  const agentId = await createAgent(person, { model: MODEL })
  await person.post('/api/chat', { agentId, message: 'My name is Ada' })
  const [pid = 0] = (await installation.agentPids()).values()
  process.kill(pid, 'SIGKILL')
  const reply = await until('an answer of the agent', async () => {
    const response = await person.post('/api/chat', { agentId, message: 'Who am I?' })
    return response.ok ? read(SentMessage, response) : null
  })
  expect(reply.reply).toBe('You said: Who am I?')
  expect(provider.chats.at(-1)?.body.messages.map(({ content }) => content)).toContain('My name is Ada')
  expect((await installation.agentPids()).get(agentId)).not.toBe(pid)
}, 300_000)

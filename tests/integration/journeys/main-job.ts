import { expect } from 'bun:test'
import { join } from 'node:path'
import { CreatedKey } from '../../../src/features/accounts/keys/schemas.ts'
import { CostDashboard } from '../../../src/features/ai/usage/schemas.ts'
import { MessageList, SentMessage } from '../../../src/features/conversations/chat/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../../harness/client.ts'
import type { Answer, ProviderDouble, ProviderRequest } from '../../harness/doubles/provider.ts'
import { bearer, json, read } from '../../harness/requests.ts'
import type { Installation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { readAllEvents } from '../../harness/wires/events.ts'

const MODEL = 'openai/gpt-4o-mini'
/** 1,000 input and 500 output tokens, at $0.15 and $0.60 per million. */
const TOKENS_PER_CALL = 1500
const MICRO_USD_PER_CALL = 450

/** Returns settings with the double as the aggregator. */
export function withProvider(provider: ProviderDouble): Record<string, string> {
  return { OPENROUTER_API_KEY: 'sk-or-the-double-takes-any', OPENROUTER_BASE_URL: provider.baseUrl }
}

/**
 * Runs the main use of Stead from an empty folder: sign up, create an agent, chat, work with files, see the cost, use a
 * key, and find everything after a restart. `provider` must answer like `answerLikeAModel`.
 */
export async function doMainJob(installation: Installation, provider: ProviderDouble): Promise<void> {
  const program = await installation.start()
  const { web, backend } = program.urls
  const person = await signUp(web)
  expect(await readCost(person)).toMatchObject({ isMockData: true })

  const agentId = await createAgent(person, { name: 'Ada Lovelace', model: MODEL })
  await talk(person, agentId)
  await talkStreamed(person, agentId)
  await workWithFiles(person, agentId, installation, provider)
  await expectCost(person, provider)
  await callWithKey(person, backend, provider)

  const pidsBefore = await installation.agentPids()
  const stopped = await program.stop()
  expect(stopped).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await installation.agentPids()).toEqual(pidsBefore)

  const again = await installation.start()
  const returned = await signIn(again.urls.web)
  await expectAllIsThere(returned, agentId, provider)
  expect(await installation.agentPids()).toEqual(pidsBefore)
  expect((await again.stop()).exitCode).toBe(0)
}

/** Greets, repeats the conversation's content, and saves a note with its tools when the user asks for one. */
export function answerLikeAModel({ body }: ProviderRequest): Answer {
  const lastUser = body.messages.findLastIndex(({ role }) => role === 'user')
  const question = String(body.messages[lastUser]?.content)
  const results = body.messages.slice(lastUser + 1).filter(({ role }) => role === 'tool')
  if (!question.includes('note')) return { text: ['You said: ', question] }
  const [first, second] = results
  if (!first)
    return { toolCalls: [{ name: 'write_file', arguments: { path: 'notes/today.md', content: 'Tea at four.' } }] }
  if (!second) return { toolCalls: [{ name: 'read_file', arguments: { path: 'notes/today.md' } }] }
  return { text: `The note says: ${JSON.parse(String(second.content)).content}` }
}

async function talk(person: Person, agentId: string): Promise<void> {
  const response = await person.post('/api/chat', { agentId, message: 'Good morning' })
  expect(response.status).toBe(200)
  expect(await read(SentMessage, response)).toMatchObject({ agentId, status: 'sent', reply: 'You said: Good morning' })
}

async function talkStreamed(person: Person, agentId: string): Promise<void> {
  const events = await readAllEvents(await person.post('/api/chat', { agentId, message: 'How are you?', stream: true }))
  const deltas = events.filter(({ event }) => event === 'delta').map(({ data }) => JSON.parse(data).text)
  expect(deltas.length).toBeGreaterThan(1)
  expect(deltas.join('')).toBe('You said: How are you?')
  expect(events.at(-1)).toMatchObject({ event: 'done' })
  expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({ reply: 'You said: How are you?', status: 'sent' })
}

async function workWithFiles(
  person: Person,
  agentId: string,
  installation: Installation,
  provider: ProviderDouble,
): Promise<void> {
  const before = provider.chats.length
  const sent = await read(SentMessage, person.post('/api/chat', { agentId, message: 'Please keep a note' }))
  expect(sent.reply).toBe('The note says: Tea at four.')
  expect(provider.chats.length - before).toBe(3)
  const file = join(installation.dataDir, 'agents', agentId, 'state', 'workspace', 'notes', 'today.md')
  expect(await Bun.file(file).text()).toBe('Tea at four.')
}

async function expectCost(person: Person, provider: ProviderDouble): Promise<void> {
  const calls = provider.chats.length
  const cost = await until('the usage of every call', async () => {
    const found = await readCost(person)
    return found.summary.totalCalls === calls && !found.isMockData ? found : null
  })
  const totalCost = (calls * MICRO_USD_PER_CALL) / 1_000_000
  const avgCostPerCall = MICRO_USD_PER_CALL / 1_000_000
  const totalTokens = calls * TOKENS_PER_CALL
  const reported = { estimatedTokens: 0 }
  expect(cost.summary).toEqual({
    ...{ totalCost, totalTokens, totalCalls: calls, avgCostPerCall },
    ...{ ...reported, estimatedCost: 0 },
  })
  expect(cost.agents).toEqual([
    { name: 'Ada Lovelace', model: MODEL, tokens: totalTokens, cost: totalCost, calls, avgCostPerCall, ...reported },
  ])
  expect(cost.modelBreakdown).toEqual([{ model: MODEL, percent: 100, cost: totalCost }])
}

/** Calls the gateway with a key; its usage is recorded for its owner, apart from the agent's. */
async function callWithKey(person: Person, backend: string, provider: ProviderDouble): Promise<void> {
  const { key } = await read(CreatedKey, person.post('/api/keys', { name: 'laptop' }))
  const request = json('POST', { model: MODEL, messages: [{ role: 'user', content: 'Hi' }] }, bearer(key))
  const response = await fetch(`${backend}/v1/chat/completions`, request)
  expect(await response.json()).toMatchObject({
    model: MODEL,
    choices: [{ message: { role: 'assistant', content: 'You said: Hi' } }],
    usage: { prompt_tokens: 1000, completion_tokens: 500 },
  })
  const cost = await until('the usage of the key', async () => {
    const found = await readCost(person)
    return found.summary.totalCalls === provider.chats.length ? found : null
  })
  expect(cost.agents.map(({ name }) => name)).toEqual(['Ada Lovelace', 'direct'])
}

async function expectAllIsThere(person: Person, agentId: string, provider: ProviderDouble): Promise<void> {
  const list = await (await person.get('/api/agents')).json()
  expect(list).toMatchObject({
    count: 1,
    agents: [{ id: agentId, name: 'Ada Lovelace', model: MODEL, status: 'running' }],
  })

  const sent = await read(SentMessage, person.post('/api/chat', { agentId, message: 'Do you remember me?' }))
  expect(sent.reply).toBe('You said: Do you remember me?')
  const reported = provider.chats.at(-1)?.body.messages.map(({ content }) => content)
  expect(reported).toContain('Good morning')

  const { messages } = await read(MessageList, person.get(`/api/chat?agentId=${agentId}`))
  expect(messages.map(({ sender, content, status }) => [sender, content, status])).toEqual([
    ['user', 'Good morning', 'sent'],
    ['agent', 'You said: Good morning', 'sent'],
    ['user', 'How are you?', 'sent'],
    ['agent', 'You said: How are you?', 'sent'],
    ['user', 'Please keep a note', 'sent'],
    ['agent', 'The note says: Tea at four.', 'sent'],
    ['user', 'Do you remember me?', 'sent'],
    ['agent', 'You said: Do you remember me?', 'sent'],
  ])
}

function readCost(person: Person): Promise<CostDashboard> {
  return read(CostDashboard, person.get('/api/dashboard/cost'))
}

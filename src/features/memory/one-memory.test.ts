import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { createAgent, type Person, signIn, signUp } from '../../../tests/harness/client.ts'
import { bearer, read } from '../../../tests/harness/platform.ts'
import { type ProviderDouble, startProvider } from '../../../tests/harness/provider.ts'
import { openHouse, startServer } from '../../../tests/harness/server.ts'
import { until } from '../../../tests/harness/until.ts'
import { agentFolder, findRecord } from '../../adapters/process-files.ts'
import { Memory } from './schemas.ts'

const MODEL = 'openai/gpt-4o-mini'
const Token = z.object({ token: z.string() })

/** What one person's one agent knows, by both ways. */
function talkTo(person: Person, provider: ProviderDouble, agentId: string, dataDir: string) {
  const say = async (message: string) => {
    const response = await person.post('/api/chat', { agentId, message })
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  }
  return {
    say,
    save: (memory: object) => person.post('/api/memory', { agentId, memory }),
    forget: (key: string) => person.delete(`/api/memory?agentId=${agentId}&key=${key}`),
    seen: async () => (await read(Memory, person.get(`/api/memory?agentId=${agentId}`))).memory,
    /** The instructions of the model in the next turn. */
    async prompt(): Promise<string> {
      provider.answerWith({ text: 'Well.' })
      await say('How are you?')
      return String(provider.chats.at(-1)?.body.messages[0]?.content)
    },
    /** A turn in which the model calls a tool once. */
    async use(name: string, args: Record<string, unknown>): Promise<void> {
      provider.answerWith(({ body }) =>
        body.messages.some(({ role }) => role === 'tool')
          ? { text: 'Done.' }
          : { toolCalls: [{ name, arguments: args }] },
      )
      await say('Do it.')
    },
    reset: () => person.post(`/api/agents/${agentId}/reset-memory`, {}),
    /** At the agent's own door, with its gateway token. */
    async atItsDoor(path: string, init: RequestInit = {}): Promise<Response> {
      const record = await findRecord(agentFolder(join(dataDir, 'agents'), agentId))
      const { token } = await read(Token, person.get(`/api/agents/${agentId}/token`))
      return fetch(`http://127.0.0.1:${record?.spec.port}${path}`, { ...init, headers: bearer(token) })
    },
  }
}

async function open() {
  const provider = await startProvider()
  const server = await startServer({ OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: provider.baseUrl })
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person, { model: MODEL })
  return {
    ...talkTo(person, provider, agentId, server.dataDir),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await provider.stop()
    },
  }
}

test('what is stored by /api/memory is known to the very next turn, and what is forgotten there is not', async () => {
  await using ada = await open()
  expect(await ada.prompt()).not.toContain('What you remember')
  await ada.save({ drinks: 'tea', pets: { cat: 'Bo' } })
  expect(await ada.prompt()).toContain('- [drinks] tea\n- [pets] {"cat":"Bo"}')
  await ada.save({ drinks: 'coffee' })
  await ada.forget('pets')
  const prompt = await ada.prompt()
  expect(prompt).toContain('- [drinks] coffee')
  expect(prompt).not.toContain('Bo')
}, 60_000)

test('what the agent remembers and forgets by its tools is at /api/memory at once', async () => {
  await using ada = await open()
  await ada.use('remember', { fact: 'Ada likes tea', name: 'drinks' })
  expect(await ada.seen()).toEqual({ drinks: 'Ada likes tea' })
  await ada.save({ drinks: 'Ada likes coffee' })
  expect(await ada.prompt()).toContain('- [drinks] Ada likes coffee')
  await ada.use('forget', { name: 'drinks' })
  expect(await ada.seen()).toEqual({})
}, 60_000)

test('a reset clears what both have stored, whether the platform is asked for it or the agent itself', async () => {
  await using ada = await open()
  const fill = async () => {
    await ada.save({ drinks: 'tea' })
    await ada.use('remember', { fact: 'The cat is called Bo', name: 'pets' })
    expect(Object.keys(await ada.seen()).sort()).toEqual(['drinks', 'pets'])
  }
  await fill()
  expect((await ada.reset()).status).toBe(200)
  expect(await ada.seen()).toEqual({})
  expect(await ada.prompt()).not.toContain('What you remember')
  await fill()
  expect((await ada.atItsDoor('/memory', { method: 'DELETE' })).status).toBe(200)
  expect(await ada.seen()).toEqual({})
  expect(await ada.prompt()).not.toContain('What you remember')
}, 60_000)

test('facts that an agent kept in its own folder before are the platform’s after its next start, once', async () => {
  await using provider = await startProvider()
  const environment = { OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: provider.baseUrl }
  await using house = await openHouse({ environment })
  const first = await house.start()
  const person = await signUp(first.urls.web)
  const agentId = await createAgent(person, { model: MODEL })
  const folder = agentFolder(join(house.dataDir, 'agents'), agentId)
  const old = { nextId: 2, facts: [{ id: 1, text: 'Ada likes tea', at: '2026-01-01T00:00:00.000Z' }] }
  writeFileSync(join(folder.state, 'memory.json'), JSON.stringify(old))
  expect((await person.post(`/api/agents/${agentId}/restart`, {})).status).toBe(200)
  const ada = talkTo(person, provider, agentId, house.dataDir)
  await until('the fact at /api/memory', async () => 'fact-1' in (await ada.seen()))
  expect(await ada.prompt()).toContain('- [fact-1] Ada likes tea')
  await ada.forget('fact-1')
  await person.post(`/api/agents/${agentId}/restart`, {})
  expect(await ada.prompt()).not.toContain('likes tea')

  await ada.save({ drinks: 'tea' })
  await first.kill()
  const again = talkTo(await signIn((await house.start()).urls.web), provider, agentId, house.dataDir)
  const prompt = await until('an answer after the crash', () => again.prompt().catch(() => null))
  expect(prompt).toContain('- [drinks] tea')
}, 120_000)

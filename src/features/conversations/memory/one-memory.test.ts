import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent, signIn, signUp } from '../../../../tests/harness/client.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { openMemoryClient } from '../../../../tests/harness/remembering.ts'
import { openInstallation } from '../../../../tests/harness/server.ts'
import { openTalkingService, type TalkingService } from '../../../../tests/harness/services/talking-service.ts'
import { until } from '../../../../tests/harness/until.ts'
import { agentFolder } from '../../../adapters/runtimes/process/files.ts'

const MODEL = 'openai/gpt-4o-mini'

/** Shared agent for tests that leave its memory empty. */
let service: TalkingService
let ada: ReturnType<typeof openMemoryClient>
beforeAll(async () => {
  service = await openTalkingService()
  ada = openMemoryClient(service.person, service.provider, service.agentId)
}, 300_000)
afterAll(() => service?.[Symbol.asyncDispose]())

test('/api/memory: the next turn has the change when facts are stored or deleted', async () => {
  expect(await ada.prompt()).not.toContain('What you remember')
  await ada.save({ drinks: 'tea', pets: { cat: 'Bo' } })
  expect(await ada.prompt()).toContain('- [drinks] tea\n- [pets] {"cat":"Bo"}')
  await ada.save({ drinks: 'coffee' })
  await ada.forget('pets')
  const prompt = await ada.prompt()
  expect(prompt).toContain('- [drinks] coffee')
  expect(prompt).not.toContain('Bo')
  await ada.forget('drinks')
}, 300_000)

test('/api/memory: 200 with facts at once when the agent stores and deletes them with its tools', async () => {
  await ada.use('remember', { fact: 'Ada likes tea', name: 'drinks' })
  expect(await ada.seen()).toEqual({ drinks: 'Ada likes tea' })
  await ada.save({ drinks: 'Ada likes coffee' })
  expect(await ada.prompt()).toContain('- [drinks] Ada likes coffee')
  await ada.use('forget', { name: 'drinks' })
  expect(await ada.seen()).toEqual({})
}, 300_000)

test('a memory reset deletes the facts of platform and agent, whichever starts it', async () => {
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
  expect((await ada.callAgent('/memory', { method: 'DELETE' })).status).toBe(200)
  expect(await ada.seen()).toEqual({})
  expect(await ada.prompt()).not.toContain('What you remember')
}, 300_000)

test('an agent’s local memory file is imported once, at its next start', async () => {
  await using provider = await startProvider()
  const environment = { OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: provider.baseUrl }
  await using installation = await openInstallation({ environment })
  const first = await installation.start()
  const person = await signUp(first.urls.web)
  const agentId = await createAgent(person, { model: MODEL })
  const folder = agentFolder(join(installation.dataDir, 'agents'), agentId)
  const old = { nextId: 2, facts: [{ id: 1, text: 'Ada likes tea', at: '2026-01-01T00:00:00.000Z' }] }
  writeFileSync(join(folder.state, 'memory.json'), JSON.stringify(old))
  expect((await person.post(`/api/agents/${agentId}/restart`, {})).status).toBe(200)
  const ada = openMemoryClient(person, provider, agentId)
  await until('the fact at /api/memory', async () => 'fact-1' in (await ada.seen()))
  expect(await ada.prompt()).toContain('- [fact-1] Ada likes tea')
  await ada.forget('fact-1')
  await person.post(`/api/agents/${agentId}/restart`, {})
  expect(await ada.prompt()).not.toContain('likes tea')

  await ada.save({ drinks: 'tea' })
  await first.kill()
  const again = openMemoryClient(await signIn((await installation.start()).urls.web), provider, agentId)
  const prompt = await until('an answer after the crash', () => again.prompt().catch(() => null))
  expect(prompt).toContain('- [drinks] tea')
}, 300_000)

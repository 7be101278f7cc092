import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startOpenClawDouble } from '../../../../tests/harness/doubles/openclaw.ts'
import { createOpenClawState } from '../../../../tests/harness/doubles/openclaw-state.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { createHttpProvider } from '../../../adapters/models/http-provider.ts'
import { write } from '../../../db/write.ts'
import { insertAgent, openTokens } from '../../agents/registry/agents.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { Memory } from './schemas.ts'

/** Creates Ada, whose running OpenClaw agent has the notes in `state`. */
async function openTestInstallation() {
  const provider = await startProvider({ text: 'Well.' })
  const { baseUrl } = provider
  const upstream = createHttpProvider({ id: 'openrouter', baseUrl, apiKey: 'k', timeoutMs: 5000 }, { fetch })
  const test = testPlatform({ providers: [upstream] })
  const { platform, clock } = test
  await platform.catalogue.refresh(new AbortController().signal)
  const { cookie, user } = await test.signIn('ada@example.com', 'label')
  const kind = {
    name: 'Bo',
    model: 'openai/gpt-4o-mini',
    plan: 'label',
    aiProvider: 'openrouter',
    status: 'running',
  } as const
  const row = await write(platform.db, (tx) =>
    insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: user.id }),
  )
  const { gatewayToken, accessToken } = openTokens(platform.sealer, row)
  const state = createOpenClawState()
  const double = startOpenClawDouble(state.answer, { gatewayToken })
  const change = (values: Partial<AgentRow>) =>
    write(platform.db, (tx) => tx.update(agents).set(values).where(eq(agents.id, row.id)).run())
  await change({ kind: 'openclaw', port: Number(new URL(double.endpoint.baseUrl).port) })
  return {
    agentId: row.id,
    files: state.files,
    change,
    get: (query = `?agentId=${row.id}`) => test.web.request(`/api/memory${query}`, { headers: cookie }),
    save: (body: object) => test.web.request('/api/memory', json('POST', { agentId: row.id, ...body }, cookie)),
    forget: (key: string) =>
      test.web.request(`/api/memory?agentId=${row.id}&key=${encodeURIComponent(key)}`, {
        method: 'DELETE',
        headers: cookie,
      }),
    /** Returns the provider's request of a completion that the agent makes. */
    async complete(messages: object[]) {
      const body = { model: 'openai/gpt-4o-mini', messages, temperature: 0.5 }
      const { status } = await test.backend.request('/v1/chat/completions', json('POST', body, bearer(accessToken)))
      expect(status).toBe(200)
      return provider.chats.at(-1)?.body
    },
    async [Symbol.asyncDispose]() {
      await double[Symbol.asyncDispose]()
      await provider.stop()
    },
  }
}

const NOTES = { 'MEMORY.md': 'tea', 'memory/a.md': 'likes tea', 'memory/deep/b.md': 'hates rain' }

test('OpenClaw: GET /api/memory returns the agent’s notes and the stored facts', async () => {
  await using ada = await openTestInstallation()
  await ada.save({ key: 'pets', memory: { cat: 'Bo' } })
  const memory = { ...NOTES, pets: { cat: 'Bo' } }
  const shown = { memory, count: 4, lastUpdated: expect.any(String) }
  expect(await read(Memory, ada.get())).toMatchObject({ ...shown, agentId: ada.agentId })
  expect(await read(Memory, ada.get(''))).toEqual({ ...shown, agentId: null })
  expect(await (await ada.get('/export')).json()).toMatchObject({ agents: [{ agentId: ada.agentId, memory }] })
  ada.files.set('MEMORY.md', 'coffee')
  expect((await read(Memory, ada.get())).memory).toMatchObject({ 'MEMORY.md': 'coffee' })
})

test('OpenClaw: changing and deleting a note changes its file', async () => {
  await using ada = await openTestInstallation()
  expect((await ada.save({ key: 'MEMORY.md', memory: 'coffee' })).status).toBe(200)
  expect((await ada.forget('memory/a.md')).status).toBe(200)
  expect(ada.files.get('MEMORY.md')).toBe('coffee')
  expect((await read(Memory, ada.get())).memory).toEqual({ 'MEMORY.md': 'coffee', 'memory/deep/b.md': 'hates rain' })
  const refused = await ada.save({ memory: { 'MEMORY.md': { no: 'text' }, pets: 'cat' } })
  expect([refused.status, await refused.json()]).toEqual([
    400,
    { error: 'MEMORY.md is a file of the agent and must be text' },
  ])
  expect((await read(Memory, ada.get())).memory).not.toHaveProperty('pets')
})

test('OpenClaw: notes are listed as unread and cannot be changed when the agent is stopped or unresponsive', async () => {
  await using ada = await openTestInstallation()
  await ada.save({ key: 'pets', memory: 'cat' })
  await ada.change({ status: 'stopped' })
  const unread = { memory: { pets: 'cat' }, count: 1, unread: [ada.agentId] }
  expect(await read(Memory, ada.get())).toMatchObject(unread)
  const refused = await ada.save({ key: 'MEMORY.md', memory: 'x' })
  expect([refused.status, await refused.json()]).toEqual([
    409,
    { error: 'MEMORY.md is a file of the agent, which is not running', code: 'AGENT_NOT_RUNNING' },
  ])
  await ada.change({ status: 'running', port: 1 })
  expect(await read(Memory, ada.get())).toMatchObject(unread)
  expect((await ada.forget('MEMORY.md')).status).toBe(503)
})

test('OpenClaw: stored facts are in the next model call, after the agent’s own instructions', async () => {
  await using ada = await openTestInstallation()
  const messages = [
    { role: 'system', content: 'You are Bo.' },
    { role: 'user', content: 'Hi' },
    { role: 'user', content: [{ type: 'text', text: 'context' }] },
  ]
  expect((await ada.complete(messages))?.messages).toEqual(messages)
  await ada.save({ memory: { drinks: 'tea', pets: { cat: 'Bo' } } })
  const body = await ada.complete(messages)
  expect(body?.messages.filter(({ role }) => role === 'user')).toEqual(messages.slice(1))
  expect(body?.messages.slice(0, 2)).toEqual([
    { role: 'system', content: 'You are Bo.' },
    { role: 'system', content: expect.stringMatching(/remember[^\n]*\n- \[drinks\] tea\n- \[pets\] \{"cat":"Bo"\}$/) },
  ])
  expect(body?.temperature).toBe(0.5)
  await ada.forget('drinks')
  expect(JSON.stringify(await ada.complete(messages))).not.toContain('drinks')
  await ada.change({ kind: 'stead' })
  expect((await ada.complete(messages))?.messages).toEqual(messages)
})

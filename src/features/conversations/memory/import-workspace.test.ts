import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startOwnedAgent } from '../../../../tests/harness/owned-agent.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { Instructions, Memory, WorkspaceImported } from './schemas.ts'

/** Starts Ada's real agent, which the platform reaches on its port. */
async function open() {
  const owned = await startOwnedAgent()
  const { agent, asOwner, platform, running } = owned
  const change = (values: Partial<AgentRow>) =>
    write(platform.db, (tx) => tx.update(agents).set(values).where(eq(agents.id, agent.id)).run())
  await change({ port: Number(new URL(running.url).port) })
  const files = (texts: Record<string, string>) => Object.entries(texts).map(([path, text]) => ({ path, text }))
  const path = `/api/agents/${agent.id}/instructions`
  return {
    ...owned,
    change,
    path,
    bring: (texts: Record<string, string>) =>
      read(WorkspaceImported, asOwner('/api/memory/import', 'POST', { agentId: agent.id, files: files(texts) })),
    files,
    instructions: async () => (await read(Instructions, asOwner(path))).text,
    put: (text: unknown) => asOwner(path, 'PUT', { text }),
    memory: () => read(Memory, asOwner(`/api/memory?agentId=${agent.id}`)),
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  }
}

const WORKSPACE = {
  'SOUL.md': 'Be kind and brief.',
  'USER.md': 'Ada drinks tea.',
  'MEMORY.md': '- The cat is called Bo',
  'memory/2026-01-02.md': 'Second day',
  'memory/2026-01-01.md': 'First day',
  'HEARTBEAT.md': 'tick',
  'memory/empty.md': ' \n',
}

test('POST /api/memory/import: 200 with imported and skipped files, which are in the next turn; the second time nothing changes', async () => {
  await using ada = await open()
  const facts = ['USER.md', 'MEMORY.md', 'memory/2026-01-02.md', 'memory/2026-01-01.md']
  const skipped = [
    { path: 'memory/empty.md', reason: 'is empty' },
    { path: 'HEARTBEAT.md', reason: 'is neither SOUL.md, MEMORY.md, USER.md nor in memory/' },
  ]
  const first = await ada.bring(WORKSPACE)
  expect(first.skipped).toEqual(expect.arrayContaining(skipped))
  expect(first).toMatchObject({ agentId: ada.agent.id, facts, instructions: ['SOUL.md'], known: [] })
  await ada.running.chat('hi')
  for (const text of ['Be kind and brief.', '[USER.md] Ada drinks tea.', '[memory/2026-01-01.md] First day']) {
    expect(ada.running.prompt()).toContain(text)
  }
  expect((await ada.memory()).sources?.['USER.md']).toMatchObject({ source: 'agent', session: 'import:openclaw' })

  await ada.asOwner('/api/memory', 'POST', { agentId: ada.agent.id, key: 'USER.md', memory: 'Ada drinks coffee.' })
  const again = await ada.bring(WORKSPACE)
  expect(again).toMatchObject({ facts: [], instructions: [], known: [...facts, 'SOUL.md'] })
  expect((await ada.memory()).memory['USER.md']).toBe('Ada drinks coffee.')
  expect(await ada.instructions()).toBe('Be kind and brief.')
})

test('POST /api/memory/import: 200 keeps existing instructions and reports as skipped what exceeds the limits', async () => {
  await using ada = await open()
  await ada.put('Speak Latin.')
  await ada.bring({ 'SOUL.md': 'Be kind.' })
  expect(await ada.instructions()).toBe('Speak Latin.\n\nBe kind.')
  const { skipped, facts } = await ada.bring({ 'SOUL.md': 'x'.repeat(20_000), 'MEMORY.md': 'y'.repeat(102_400) })
  expect([facts, skipped]).toEqual([
    [],
    [
      { path: 'MEMORY.md', reason: 'is larger than 100 KB' },
      { path: 'SOUL.md', reason: 'the instructions would have more than 20000 characters' },
    ],
  ])
  const day = (index: number) => `memory/${String(index).padStart(3, '0')}.md`
  const diary = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [day(index), `Day ${index}`]))
  await ada.bring({ 'USER.md': 'Ada' })
  const full = await ada.bring(diary)
  expect(full.facts).toHaveLength(199)
  expect(full.skipped).toEqual([{ path: day(0), reason: 'the memory of the agent is full' }])
})

test('POST /api/memory/import: 200 imports facts and skips instructions when the agent does not run', async () => {
  await using ada = await open()
  await ada.change({ status: 'stopped' })
  expect(await ada.bring({ 'SOUL.md': 'Be kind.', 'USER.md': 'Ada' })).toMatchObject({
    facts: ['USER.md'],
    skipped: [{ path: 'SOUL.md', reason: 'AGENT.md is a file of the agent, which is not running' }],
  })
})

test('POST /api/memory/import: 404 for another user’s agent, 400 without a list of files, and nothing is stored', async () => {
  await using ada = await open()
  const files = ada.files({ 'USER.md': 'Eve' })
  const send = (body: object) => ada.asOwner('/api/memory/import', 'POST', body)
  expect((await send({ agentId: ada.strangersAgent.id, files })).status).toBe(404)
  expect((await ada.asStranger('/api/memory/import', 'POST', { agentId: ada.agent.id, files })).status).toBe(404)
  const agentId = ada.agent.id
  for (const body of [{ files }, { agentId }, { agentId, files: [] }, { agentId, files: [{ path: 'USER.md' }] }]) {
    expect((await send(body)).status).toBe(400)
  }
  expect((await ada.memory()).memory).toEqual({})
})

test('GET and PUT /api/agents/:id/instructions: 200; 400 without text, 404 for others, 409 for OpenClaw', async () => {
  await using ada = await open()
  expect(await ada.instructions()).toBeNull()
  expect((await ada.put('Speak Latin.')).status).toBe(200)
  expect(await ada.instructions()).toBe('Speak Latin.')
  expect((await ada.put(7)).status).toBe(400)
  expect((await ada.put('x'.repeat(20_001))).status).toBe(400)
  expect((await ada.asStranger(ada.path)).status).toBe(404)
  expect((await ada.asStranger(ada.path, 'PUT', { text: 'Obey Eve.' })).status).toBe(404)
  expect(await ada.instructions()).toBe('Speak Latin.')
  await ada.change({ kind: 'openclaw' })
  expect(await (await ada.asOwner(ada.path)).json()).toMatchObject({ code: 'OTHER_RUNTIME' })
  await ada.change({ kind: 'stead', status: 'stopped' })
  const refused = await ada.put('Speak Greek.')
  expect([refused.status, await refused.json()]).toEqual([
    409,
    { error: 'AGENT.md is a file of the agent, which is not running', code: 'AGENT_NOT_RUNNING' },
  ])
})

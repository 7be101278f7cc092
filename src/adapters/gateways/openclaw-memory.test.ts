import { expect, test } from 'bun:test'
import { refusal, SILENCE, startOpenClawDouble } from '../../../tests/harness/doubles/openclaw.ts'
import { createOpenClawState } from '../../../tests/harness/doubles/openclaw-state.ts'
import { findHold, findPreparedHold } from '../../../tests/harness/speed/loop-hold.ts'
import { measureSlowness } from '../../../tests/harness/speed/machine-speed.ts'
import { createAgentGateway } from './gateway.ts'

const gateway = createAgentGateway({ fetch })
const hasty = createAgentGateway({ fetch }, { probeMs: 200, changeMs: 200, chatIdleMs: 200, chatTotalMs: 200 })

test('resetMemory pairs once, deletes all sessions but the main one, and empties memory files', async () => {
  const state = createOpenClawState()
  await using double = startOpenClawDouble(state.answer)
  await gateway.resetMemory(double.endpoint)
  expect([...state.sessions.keys()]).toEqual(['agent:main:main'])
  expect(Object.fromEntries(state.files)).toEqual({
    'MEMORY.md': '',
    'SOUL.md': 'kind',
    'memory/a.md': '',
    'memory/deep/b.md': '',
    'memory/empty.md': '',
  })
  expect(double.calls.filter((method) => method === 'connect')).toHaveLength(2)
  expect(double.calls).toContain('sessions.reset')

  await gateway.resetMemory(double.endpoint)
  expect(double.calls.filter((method) => method === 'connect')).toHaveLength(3)
  expect(double.paired.size).toBe(1)
})

test('resetMemory succeeds when the agent has no workspace', async () => {
  const state = createOpenClawState({ hasWorkspace: false })
  await using double = startOpenClawDouble(state.answer)
  await gateway.resetMemory(double.endpoint)
  expect([...state.sessions.keys()]).toEqual(['agent:main:main'])
  expect(await gateway.readNotes(double.endpoint)).toEqual([])
})

test('readNotes returns memory files and diary, oldest first, without empty and identity files', async () => {
  await using double = startOpenClawDouble(createOpenClawState().answer)
  expect(await gateway.readNotes(double.endpoint)).toEqual([
    { path: 'MEMORY.md', text: 'tea', updatedAt: new Date(1000) },
    { path: 'memory/a.md', text: 'likes tea', updatedAt: new Date(3000) },
    { path: 'memory/deep/b.md', text: 'hates rain', updatedAt: new Date(4000) },
  ])
})

test('readNotes returns the newest hundred files when the diary is long', async () => {
  const state = createOpenClawState()
  for (let day = 0; day < 150; day++) state.files.set(`memory/${day}.md`, `day ${day}`)
  await using double = startOpenClawDouble(state.answer)
  const notes = await gateway.readNotes(double.endpoint)
  expect([notes.length, notes[0]?.text, notes.at(-1)?.text]).toEqual([100, 'day 50', 'day 149'])
})

test('writeNote replaces and empties a memory file, and throws when the file is another one', async () => {
  const state = createOpenClawState()
  await using double = startOpenClawDouble(state.answer)
  await gateway.writeNote(double.endpoint, { path: 'MEMORY.md', text: 'coffee' })
  await gateway.writeNote(double.endpoint, { path: 'memory/a.md', text: '' })
  await gateway.writeNote(double.endpoint, { path: 'memory/deep/b.md', text: 'loves rain' })
  expect(Object.fromEntries(state.files)).toMatchObject({
    'MEMORY.md': 'coffee',
    'memory/a.md': '',
    'memory/deep/b.md': 'loves rain',
  })
  const refused = [gateway.writeNote(double.endpoint, { path: 'memory/new.md', text: 'x' })]
  await expect(Promise.all(refused)).rejects.toMatchObject({ message: 'session file not found' })
  for (const path of ['SOUL.md', '../openclaw.json', 'notes.md']) {
    await expect(gateway.writeNote(double.endpoint, { path, text: 'x' })).rejects.toMatchObject({ kind: 'invalid' })
  }
})

test("resetMemory throws the agent's message when a call fails or a session remains", async () => {
  await using refusing = startOpenClawDouble(() => refusal('not now'))
  await expect(gateway.resetMemory(refusing.endpoint)).rejects.toMatchObject({
    kind: 'upstream_failed',
    message: 'not now',
  })
  const { answer } = createOpenClawState()
  await using keeping = startOpenClawDouble((method, params) =>
    method === 'sessions.delete' ? { deleted: false } : answer(method, params),
  )
  await expect(gateway.resetMemory(keeping.endpoint)).rejects.toMatchObject({
    message: 'The agent does not let session agent:main:user:0 be deleted',
  })
})

test('resetMemory throws when pairing, token, response, valid JSON or listener is missing', async () => {
  await using stubborn = startOpenClawDouble(() => ({}), { isStubborn: true })
  await expect(gateway.resetMemory(stubborn.endpoint)).rejects.toMatchObject({ message: 'pairing required' })
  const stranger = { ...stubborn.endpoint, gatewayToken: 'wrong' }
  await expect(gateway.resetMemory(stranger)).rejects.toMatchObject({ message: 'device identity invalid' })

  await using silent = startOpenClawDouble(() => SILENCE)
  await expect(hasty.resetMemory(silent.endpoint)).rejects.toMatchObject({ kind: 'upstream_timeout' })
  await using strange = startOpenClawDouble(() => ({ sessions: 'none' }))
  await expect(gateway.resetMemory(strange.endpoint)).rejects.toMatchObject({ kind: 'upstream_failed' })

  const { endpoint } = strange
  await strange[Symbol.asyncDispose]()
  await expect(gateway.resetMemory(endpoint)).rejects.toMatchObject({ kind: 'unavailable' })
})

const folder = { path: 'memory', kind: 'directory' }
const files = Array.from({ length: 100 }, (_, index) => ({ path: `memory/${index}`, kind: 'file' }))
const nothings = Array.from({ length: 400_000 }, () => ({}))

test.each<[string, (method: string, params: Record<string, unknown>) => unknown]>([
  ['sessions without end', (method) => (method === 'sessions.list' ? { sessions: [{ key: 'a' }] } : { deleted: true })],
  ['files without end', () => ({ sessions: [], entries: [folder], totalEntries: 1e9, file: { content: 'a' } })],
  ['folders in each other', () => ({ sessions: [], entries: [folder], totalEntries: 1 })],
  ['hundreds of thousands of files at once', () => ({ sessions: [], entries: nothings, totalEntries: 1 })],
  [
    'notes without end',
    (method, { path }) =>
      method === 'agents.workspace.list'
        ? { entries: path === '' ? [folder] : files, totalEntries: 1 }
        : { sessions: [], file: { content: 'a'.repeat(3_000_000) } },
  ],
])(
  'resetMemory and readNotes disconnect when an agent sends %s',
  async (what, answer) => {
    // The peer writes hundreds of thousands of files in the same event loop.
    const limitMs = what.startsWith('hundreds') ? Number.POSITIVE_INFINITY : 50 * measureSlowness()
    for (const work of ['resetMemory', 'readNotes'] as const) {
      const holdMs = await findPreparedHold(
        limitMs,
        () => startOpenClawDouble(answer),
        async (started) => {
          await using double = started
          await expect(gateway[work](double.endpoint)).rejects.toMatchObject({ kind: 'upstream_failed' })
          expect(double.calls.length).toBeLessThan(11_000)
        },
      )
      expect(holdMs).toBeLessThan(limitMs)
    }
  },
  600_000,
)

test('readNotes disconnects when an agent sends too many events', async () => {
  const limitMs = 200 * measureSlowness()
  const holdMs = await findHold(limitMs, async () => {
    using server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: (request, upgrading) => (upgrading.upgrade(request) ? undefined : new Response(null, { status: 404 })),
      websocket: {
        open(socket) {
          for (let count = 0; count < 100_000; count++) socket.send('{}')
        },
        message: () => undefined,
      },
    })
    const endpoint = { baseUrl: `http://127.0.0.1:${server.port}`, gatewayToken: 'gw_1', kind: 'openclaw' } as const
    await expect(gateway.readNotes(endpoint)).rejects.toMatchObject({ kind: 'upstream_failed' })
  })
  expect(holdMs).toBeLessThan(limitMs)
}, 600_000)

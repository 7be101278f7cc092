import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { clearMemory } from './save.ts'
import { Memory } from './schemas.ts'
import { agentMemory } from './tables.ts'

type Test = ReturnType<typeof testPlatform>

function addAgent({ platform, clock }: Test, ownerId: string, name = 'Ada') {
  const kind = { name, model: 'm', plan: 'label', aiProvider: 'openrouter', status: 'running' } as const
  return write(platform.db, (tx) => insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId }).id)
}

async function openTestInstallation() {
  const test = testPlatform()
  const { cookie, user } = await test.signIn()
  const agentId = await addAgent(test, user.id)
  return {
    ...test,
    user,
    agentId,
    save: (body: object, headers: Record<string, string> = cookie) =>
      test.web.request('/api/memory', json('POST', body, headers)),
    get: (path = '/api/memory', headers: Record<string, string> = cookie) => test.web.request(path, { headers }),
    forget: (query: string, headers: Record<string, string> = cookie) =>
      test.web.request(`/api/memory?${query}`, { method: 'DELETE', headers }),
    rows: () => test.platform.db.select().from(agentMemory).all(),
  }
}

test('POST /api/memory: 200 stores one value, which GET /api/memory returns and a second POST replaces', async () => {
  const test = await openTestInstallation()
  const { agentId } = test
  expect(await read(Memory, test.get())).toEqual({ memory: {}, agentId: null, count: 0, lastUpdated: null })
  const response = await test.save({ agentId, key: 'likes', memory: { tea: ['green', null, 1.5] } })
  const saved = test.clock.now().toISOString()
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ success: true, agentId, key: 'likes', saved })
  const kept = { memory: { likes: { tea: ['green', null, 1.5] } }, count: 1, lastUpdated: saved }
  expect(await read(Memory, test.get())).toEqual({ ...kept, agentId: null })
  expect(await read(Memory, test.get('/api/memory?agentId=all'))).toEqual({ ...kept, agentId: null })
  const origin = { source: 'user', session: null, page: null, createdAt: saved, updatedAt: saved } as const
  const sources = { likes: origin }
  expect(await read(Memory, test.get(`/api/memory?agentId=${agentId}`))).toEqual({ ...kept, agentId, sources })

  await test.save({ agentId, key: 'likes', memory: null })
  expect((await read(Memory, test.get())).memory).toEqual({ likes: null })
})

test('POST /api/memory: 200 stores several values; when two agents have a key, the newest value is shown', async () => {
  const test = await openTestInstallation()
  const { agentId } = test
  const other = await addAgent(test, test.user.id, 'Bo')
  const response = await test.save({ agentId, memory: { name: 'Ada', age: 36 } })
  expect(await response.json()).toMatchObject({ success: true, agentId, keysUpdated: 2 })
  test.clock.advance(1000)
  await test.save({ agentId: other, memory: { name: 'Bo' } })
  expect(await read(Memory, test.get())).toMatchObject({ memory: { name: 'Bo', age: 36 }, count: 2 })

  const exported = await test.get('/api/memory/export')
  expect(exported.headers.get('content-disposition')).toStartWith('attachment')
  expect(await exported.json()).toEqual({
    exportedAt: test.clock.now().toISOString(),
    agents: [
      { agentId, memory: { name: 'Ada', age: 36 } },
      { agentId: other, memory: { name: 'Bo' } },
    ],
  })
})

const NEEDED = 'Memory data required (object or key+memory pair)'
test.each<[object, string]>([
  [{}, 'agentId required'],
  [{ agentId: '' }, 'agentId required'],
  [{ agentId: 'own' }, NEEDED],
  [{ agentId: 'own', key: 'a' }, NEEDED],
  [{ agentId: 'own', memory: 'text' }, NEEDED],
  [{ agentId: 'own', memory: [1] }, NEEDED],
  [{ agentId: 'own', memory: null }, NEEDED],
  [{ agentId: 'own', key: 7, memory: 1 }, 'key must be text'],
  [{ agentId: 'own', memory: { '': 1 } }, 'key must have 1 to 200 characters'],
  [{ agentId: 'own', key: 'a', memory: 'x'.repeat(102_399) }, 'Memory value too large (max 100KB)'],
  [{ agentId: 'own', memory: { small: 1, large: 'é'.repeat(60_000) } }, 'Memory value too large (max 100KB)'],
])('POST /api/memory: 400 when the body is %j, and nothing is stored', async (body, error) => {
  const test = await openTestInstallation()
  const named = 'agentId' in body && body.agentId === 'own' ? { ...body, agentId: test.agentId } : body
  const response = await test.save(named)
  expect(await response.json()).toEqual({ error })
  expect(response.status).toBe(400)
  expect(test.rows()).toEqual([])
})

test('POST /api/memory: 200 when a value has exactly 100 KB of JSON', async () => {
  const test = await openTestInstallation()
  expect((await test.save({ agentId: test.agentId, key: 'a', memory: 'x'.repeat(102_398) })).status).toBe(200)
})

test('POST /api/memory: 400 when an agent has 50 keys, also when concurrent; known keys can change', async () => {
  const test = await openTestInstallation()
  const { agentId } = test
  const keys = Object.fromEntries(Array.from({ length: 49 }, (_, index) => [`key${index}`, index]))
  expect((await test.save({ agentId, memory: keys })).status).toBe(200)
  const rivals = await Promise.all(
    Array.from({ length: 20 }, (_, index) => test.save({ agentId, key: `rival${index}`, memory: index })),
  )
  expect(rivals.filter(({ status }) => status === 200)).toHaveLength(1)
  const refused = await test.save({ agentId, memory: { key0: 'changed', another: 1 } })
  expect(await refused.json()).toEqual({ error: 'Too many memory keys (max 50)' })
  expect(refused.status).toBe(400)
  expect(test.rows().find(({ key }) => key === 'key0')?.value).toBe('0')
  expect((await test.save({ agentId, memory: { key0: 'changed', key1: 'too' } })).status).toBe(200)
  expect(test.rows()).toHaveLength(50)
})

test('/api/memory: 404 when the agent is missing or another user’s, whose memory is neither returned nor changed', async () => {
  const test = await openTestInstallation()
  const { agentId } = test
  await test.save({ agentId, key: 'secret', memory: 'mine' })
  const stranger = (await test.signIn('eve@example.com')).cookie
  const before = test.rows()
  for (const id of [agentId, 'agent-missing']) {
    const answers = [
      test.get(`/api/memory?agentId=${id}`, stranger),
      test.save({ agentId: id, key: 'secret', memory: 'hers' }, stranger),
    ]
    for (const response of await Promise.all(answers)) {
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({ error: 'Agent not found' })
    }
    const forgotten = await test.forget(`agentId=${id}&key=secret`, stranger)
    expect(forgotten.status).toBe(404)
    expect(await forgotten.json()).toEqual({ error: 'Memory key not found' })
  }
  expect((await read(Memory, test.get('/api/memory', stranger))).memory).toEqual({})
  expect(test.rows()).toEqual(before)
})

test('DELETE /api/memory: 200 deletes one key, 404 the second time, 400 without a key', async () => {
  const test = await openTestInstallation()
  const { agentId } = test
  await test.save({ agentId, memory: { a: 1, b: 2 } })
  const response = await test.forget(`agentId=${agentId}&key=a`)
  expect(await response.json()).toEqual({ success: true, agentId, key: 'a', deleted: true })
  expect((await read(Memory, test.get())).memory).toEqual({ b: 2 })
  expect((await test.forget(`agentId=${agentId}&key=a`)).status).toBe(404)
  expect(await (await test.forget(`agentId=${agentId}`)).json()).toEqual({ error: 'key required' })
})

test('/api/memory: 401 without a session', async () => {
  const test = await openTestInstallation()
  const answers = [
    test.get('/api/memory', {}),
    test.get('/api/memory/export', {}),
    test.save({ agentId: test.agentId, key: 'a', memory: 1 }, {}),
    test.forget(`agentId=${test.agentId}&key=a`, {}),
  ]
  for (const response of await Promise.all(answers)) expect(response.status).toBe(401)
})

test('memory is deleted when its agent is reset or deleted', async () => {
  const test = await openTestInstallation()
  const { agentId, platform } = test
  const other = await addAgent(test, test.user.id, 'Bo')
  await test.save({ agentId, key: 'a', memory: 1 })
  await test.save({ agentId: other, key: 'b', memory: 2 })
  await write(platform.db, (tx) => clearMemory(tx, agentId))
  expect(test.rows().map(({ key }) => key)).toEqual(['b'])
  await write(platform.db, (tx) => tx.delete(agents).run())
  expect(test.rows()).toEqual([])
})

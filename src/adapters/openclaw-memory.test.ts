import { expect, test } from 'bun:test'
import { refusal, SILENCE, startOpenClawDouble } from '../../tests/harness/openclaw-double.ts'
import { createAgentGateway } from './agent-gateway.ts'

const gateway = createAgentGateway({ fetch })
const hasty = createAgentGateway({ fetch }, { probeMs: 200, changeMs: 200, chatIdleMs: 200, chatTotalMs: 200 })

/** Sessions and files of an agent, and the calls that look at them and take them away. */
function createState() {
  const sessions = new Map([
    ['agent:main:main', false],
    ...numbered('agent:main:user:', 3, false),
    ...numbered('old:', 2, true),
  ])
  const files = new Map([
    ['MEMORY.md', 'tea'],
    ['SOUL.md', 'kind'],
    ['memory/a.md', 'likes tea'],
    ['memory/deep/b.md', 'hates rain'],
    ['memory/empty.md', ''],
  ])
  const listFolder = (folder: string) => {
    const inside = [...files.keys()].filter((path) => path.startsWith(folder)).map((path) => path.slice(folder.length))
    return [...new Set(inside.map((path) => path.split('/')[0] ?? ''))].map((name) => ({
      path: `${folder}${name}`,
      kind: files.has(`${folder}${name}`) ? 'file' : 'directory',
    }))
  }
  const answer = (method: string, params: Record<string, unknown>): unknown => {
    const { key = '', path = '', offset = 0 } = params
    if (method === 'sessions.list') {
      const kept = [...sessions].filter(([, archived]) => archived === params.archived)
      return { sessions: kept.map(([name]) => ({ key: name, isMain: name === 'agent:main:main' })) }
    }
    if (method === 'sessions.delete') return { deleted: sessions.delete(String(key)) }
    if (method === 'sessions.reset') return { ok: true }
    if (method === 'agents.workspace.list') {
      const entries = listFolder(path ? `${path}/` : '')
      return { entries: entries.slice(Number(offset), Number(offset) + 2), totalEntries: entries.length }
    }
    const content = files.get(String(path))
    if (content === undefined) return refusal('session file not found')
    if (method === 'sessions.files.get') return { file: { missing: false, size: content.length, hash: `#${content}` } }
    if (params.expectedHash !== `#${content}`) return refusal('file changed')
    files.set(String(path), String(params.content))
    return { file: {} }
  }
  return { sessions, files, answer }
}

function numbered(prefix: string, count: number, isArchived: boolean): [string, boolean][] {
  return Array.from({ length: count }, (_, index) => [`${prefix}${index}`, isArchived])
}

test('resetMemory pairs once, ends every session but the main one, and empties what was learnt', async () => {
  const state = createState()
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

test('resetMemory: what the agent refuses comes out in its words, and a session that stays is no success', async () => {
  await using refusing = startOpenClawDouble(() => refusal('not now'))
  await expect(gateway.resetMemory(refusing.endpoint)).rejects.toMatchObject({
    kind: 'upstream_failed',
    message: 'not now',
  })
  const { answer } = createState()
  await using keeping = startOpenClawDouble((method, params) =>
    method === 'sessions.delete' ? { deleted: false } : answer(method, params),
  )
  await expect(gateway.resetMemory(keeping.endpoint)).rejects.toMatchObject({
    message: 'The agent does not let session agent:main:user:0 be deleted',
  })
})

test('resetMemory: no pairing, a wrong token, silence, nonsense and nobody are all errors', async () => {
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

import { expect, test } from 'bun:test'
import { dumpTables } from '../../../tests/harness/dump.ts'
import { bearer, INTERNAL_KEY, json, testPlatform } from '../../../tests/harness/platform.ts'
import { write } from '../../db/write.ts'
import { insertAgent } from '../agents/create.ts'

const LIFECYCLE = ['start', 'stop', 'restart', 'update', 'repair', 'reset-memory']
const TOKENS = ['token/rotate', 'platform-token/rotate']
const PATHS = [
  ...[...LIFECYCLE, ...TOKENS].map((verb) => `/api/agents/ada-1/${verb}`),
  ...LIFECYCLE.map((verb) => `/api/instance/ada-1/${verb}`),
  '/api/keys/key_1/rotate',
  '/api/swarms/swarm_1/run',
  '/api/swarms/swarm_1/runs/run_1/cancel',
  '/api/scheduled-tasks/task_1/run',
]

async function withAgent() {
  const house = testPlatform()
  const { user, cookie } = await house.signIn('ada@example.com', 'network')
  const row = { id: 'ada-1', ownerId: user.id, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
  await write(house.platform.db, (tx) => insertAgent(house.platform, tx, { ...row, status: 'running' }))
  return { ...house, cookie }
}

test.each(PATHS)('POST %s: 400 for a field that nobody knows, and nothing is done', async (path) => {
  const { web, platform, cookie } = await withAgent()
  const before = dumpTables(platform.db)
  const task = path.endsWith('/run') && path.includes('swarms') ? { task: 'Say hello' } : {}
  const response = await web.request(path, json('POST', { ...task, imgae: 'stead-agent:2', dry: true }, cookie))
  expect(await response.json()).toMatchObject({ error: 'Unknown field: imgae, dry' })
  expect(response.status).toBe(400)
  expect(dumpTables(platform.db)).toBe(before)
})

test.each([...LIFECYCLE, ...TOKENS])(
  'POST /api/agents/:id/%s on the backend: 400 for a field that nobody knows',
  async (verb) => {
    const { backend, platform } = await withAgent()
    const before = dumpTables(platform.db)
    const request = json('POST', { imgae: 'stead-agent:2' }, bearer(INTERNAL_KEY))
    const response = await backend.request(`/api/agents/ada-1/${verb}`, request)
    expect(await response.json()).toEqual({ error: 'Unknown field: imgae' })
    expect(response.status).toBe(400)
    expect(dumpTables(platform.db)).toBe(before)
  },
)

test('an action without a body, or with an empty one, is as it was', async () => {
  const { web, cookie } = await withAgent()
  for (const init of [{ method: 'POST', headers: cookie }, json('POST', {}, cookie)]) {
    expect((await web.request('/api/agents/ada-1/start', init)).status).toBe(200)
  }
})

import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/create.ts'

const WALLET = `0x${'ab'.repeat(20)}`
const PAYMENT = {
  transactionHash: '0x1',
  amount: '1.0',
  currency: 'pathUSD',
  chainId: 4217,
  from: WALLET,
  to: WALLET,
  timestamp: 1_800_000_000,
}
const PROOF = { verificationType: 'eas', attestationUid: '0x1', walletAddress: WALLET, signature: '0x12' }

/** Every action there is, with a body that it takes. */
const ACTIONS: Readonly<Record<string, object>> = {
  '/api/agents/:id/channels/:name/pairings/:code': { approve: true },
  '/api/agents/:id/start': {},
  '/api/agents/:id/stop': {},
  '/api/agents/:id/restart': {},
  '/api/agents/:id/update': {},
  '/api/agents/:id/repair': {},
  '/api/agents/:id/reset-memory': {},
  '/api/agents/:id/snapshots/:snapshotId/restore': {},
  '/api/agents/:id/mcp-servers': { name: 'tides', url: 'https://mcp.example/' },
  '/api/agents/:id/mcp-servers/:serverId/try': { tool: 'next_tide' },
  '/api/agents/:id/pause': {},
  '/api/agents/:id/resume': {},
  '/api/agents/:id/token/rotate': {},
  '/api/agents/:id/platform-token/rotate': {},
  '/api/agents/:id/verify': PROOF,
  '/api/agents/:id/verify/challenge': {},
  '/api/agents/clone': { parentAgentId: 'ada-1', name: 'Bo', paymentProof: PAYMENT },
  '/api/deployments': { agentId: 'ada-1' },
  '/api/instance/:userId/start': {},
  '/api/instance/:userId/stop': {},
  '/api/instance/:userId/restart': {},
  '/api/instance/:userId/update': {},
  '/api/instance/:userId/repair': {},
  '/api/instance/:userId/reset-memory': {},
  '/api/logs/:agentId/stop': {},
  '/api/keys/:id/rotate': {},
  '/api/swarms/:id/run': { task: 'Say hello' },
  '/api/swarms/:id/runs/:runId/cancel': {},
  '/api/scheduled-tasks/:id/run': {},
  '/api/watchdog/test': {},
}
/** What begins with settings, which strip what nobody knows (decisions, 11), or asks a question. */
const OTHERS: ReadonlySet<string> = new Set([
  '/api/agents',
  '/api/agents/provision',
  '/api/provision',
  '/api/keys',
  '/api/keys/validate',
  '/api/swarms',
  '/api/scheduled-tasks',
])
const ROOMS = /^\/api\/(agents|deployments|provision|instance|logs|keys|swarms|scheduled-tasks|watchdog)\b/

const ROUTES = readFileSync(join(import.meta.dir, '../../../../tests/endpoints.txt'), 'utf8')
  .split('\n')
  .map((line) => line.split(' '))
  .filter(([method, path = '']) => method === 'POST' && ROOMS.test(path) && !OTHERS.has(path))
  .map(([, path = '', face = '']) => ({ path, face }))

async function withAgent() {
  const house = testPlatform({ environment: { ADMIN_EMAILS: 'ada@example.com' } })
  const { user, cookie } = await house.signIn('ada@example.com', 'network')
  const row = { id: 'ada-1', ownerId: user.id, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
  await write(house.platform.db, (tx) => insertAgent(house.platform, tx, { ...row, status: 'running' }))
  return { ...house, cookie }
}

test.each(ROUTES)('POST $path on the $face: 400 for a field that nobody knows, and nothing is done', async (route) => {
  const { web, backend, platform, cookie } = await withAgent()
  const before = dumpTables(platform.db)
  const body = { ...ACTIONS[route.path], imgae: 'stead-agent:2', dry: true }
  const path = route.path.replace(/:\w+/g, 'ada-1')
  const response = await (route.face === 'web'
    ? web.request(path, json('POST', body, cookie))
    : backend.request(path, json('POST', body, bearer(INTERNAL_KEY))))
  expect(await response.json()).toMatchObject({ error: 'Unknown field: imgae, dry' })
  expect(response.status).toBe(400)
  expect(dumpTables(platform.db)).toBe(before)
})

test('every action is among those that are tried here', () => {
  expect([...new Set(ROUTES.map(({ path }) => path))].sort()).toEqual(Object.keys(ACTIONS).sort())
})

test('an action without a body, or with an empty one, is as it was', async () => {
  const { web, cookie } = await withAgent()
  for (const path of ['/api/agents/ada-1/start', '/api/logs/ada-1/stop']) {
    for (const init of [{ method: 'POST', headers: cookie }, json('POST', {}, cookie)]) {
      expect((await web.request(path, init)).status).toBe(200)
    }
  }
})

test('POST /api/deployments: what is unknown among the settings is stripped', async () => {
  const { backend } = await withAgent()
  const request = json('POST', { agentId: 'ada-1', config: { colour: 'red' } }, bearer(INTERNAL_KEY))
  expect((await backend.request('/api/deployments', request)).status).toBe(200)
})

import { expect, test } from 'bun:test'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/agents.ts'

async function withAgent() {
  const installation = testPlatform({ environment: { ADMIN_EMAILS: 'ada@example.com' } })
  const { user, cookie } = await installation.signIn('ada@example.com', 'network')
  const row = { id: 'ada-1', ownerId: user.id, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
  await write(installation.platform.db, (tx) => insertAgent(installation.platform, tx, { ...row, status: 'running' }))
  return { ...installation, cookie }
}

test.each(['/api/agents/ada-1/start', '/api/agents/ada-1/pause', '/api/agents/ada-1/resume', '/api/logs/ada-1/stop'])(
  'POST %s: 200 without a body, with an empty one and with an unknown field',
  async (path) => {
    const { web, cookie } = await withAgent()
    const empty = { method: 'POST', headers: cookie }
    for (const init of [empty, json('POST', {}, cookie), json('POST', { dry: true }, cookie)])
      expect((await web.request(path, init)).status).toBe(200)
  },
)

test('POST /api/deployments: 200 with an unknown field, 400 with an unknown setting', async () => {
  const { backend } = await withAgent()
  const deploy = async (body: object) => {
    const response = await backend.request('/api/deployments', json('POST', body, bearer(INTERNAL_KEY)))
    return { status: response.status, body: await response.json() }
  }
  expect(await deploy({ agentId: 'ada-1', dry: true })).toMatchObject({ status: 200 })
  expect(await deploy({ agentId: 'ada-1', config: { telegramTokn: '1:a' } })).toMatchObject({
    status: 400,
    body: { error: 'Unknown setting telegramTokn. Did you mean telegramToken?' },
  })
})

test.each([
  'POST /api/agents/:id/restart',
  'POST /api/instance/:userId/start',
  'POST /api/instance/:userId/stop',
  'POST /api/instance/:userId/restart',
  'POST /api/instance/:userId/update',
  'POST /api/instance/:userId/repair',
  'POST /api/instance/:userId/reset-memory',
  'GET /api/swarms/:id/runs',
  'GET /api/swarms/:id/runs/:runId',
  'POST /api/swarms/:id/runs/:runId/cancel',
])('%s: 404 for a stranger, also with an unknown field', async (route) => {
  const { web, signIn } = await withAgent()
  const eve = await signIn('eve@example.com', 'network')
  const [method = '', path = ''] = route.split(' ')
  const url = path.replace(':id', 'ada-1').replace(':userId', 'ada-1').replace(':runId', 'run-1')
  const init = method === 'GET' ? { headers: eve.cookie } : json('POST', { dry: true }, eve.cookie)
  expect((await web.request(url, init)).status).toBe(404)
})

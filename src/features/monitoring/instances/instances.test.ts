import { expect, test } from 'bun:test'
import { z } from 'zod'
import { createAgent, signUp } from '../../../../tests/harness/client.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { startServer } from '../../../../tests/harness/server.ts'
import { VERSION } from '../../../core/version.ts'
import { SessionResponse } from '../../accounts/registration/schemas.ts'
import { WebAgent, WebAgentDetail } from '../../agents/registry/schemas.ts'
import { Instance, InstanceStats } from './schemas.ts'

const Token = z.object({ token: z.string() })
const Created = z.object({ agent: WebAgent })
const NOT_FOUND = { error: 'No instance found. Please deploy first.' }
const ROUTES: [method: string, part: string][] = [
  ['GET', ''],
  ['GET', '/stats'],
  ['GET', '/token'],
  ['POST', '/start'],
  ['POST', '/stop'],
  ['POST', '/restart'],
  ['POST', '/repair'],
  ['POST', '/reset-memory'],
  ['POST', '/update'],
]

test('GET /api/instance/:userId, /api/instance/:userId/stats and /api/instance/:userId/token: 200 with the newest agent, also by the agent’s id', async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const { user } = await read(SessionResponse, person.get('/api/auth/session'))
  const userId = user?.id ?? ''
  const before = Date.now()
  const agentId = await createAgent(person)
  const shown = await read(Instance, person.get(`/api/instance/${userId}`))
  expect(shown).toEqual({
    userId,
    agentId,
    status: 'running',
    startedAt: shown.startedAt,
    subdomain: `${agentId}.agents.localhost`,
    url: `https://${agentId}.agents.localhost`,
    plan: 'label',
    runtimeVersion: VERSION,
  })
  expect(Date.parse(shown.startedAt ?? '')).toBeGreaterThanOrEqual(before)
  expect(await read(Instance, person.get(`/api/instance/${agentId}`))).toEqual({ ...shown, userId: agentId })

  const stats = await read(InstanceStats, person.get(`/api/instance/${userId}/stats`))
  expect(stats).toMatchObject({ status: 'running', health: 'healthy', messages: 0, errors: 0, plan: 'label' })
  const { token } = await read(Token, person.get(`/api/agents/${agentId}/token`))
  expect(await (await person.get(`/api/instance/${userId}/token`)).json()).toEqual({ token })

  const later = await createAgent(person)
  expect(await read(Instance, person.get(`/api/instance/${userId}`))).toMatchObject({ agentId: later })
  await person.post(`/api/agents/${later}/stop`, {})
  expect(await read(Instance, person.get(`/api/instance/${userId}`))).toMatchObject({ agentId })
})

test('POST /api/instance/:userId/:action: 200 with the message of each action, which the agent performs', async () => {
  await using server = await startServer({ WATCHDOG_KILL_WAIT: '0.05' })
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const change = async (action: string) => (await person.post(`/api/instance/${id}/${action}`, {})).json()
  const status = async () => (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
  expect(await change('stop')).toEqual({ success: true, status: 'stopped' })
  expect(await status()).toBe('stopped')
  const words = {
    start: 'starting',
    restart: 'restarting',
    repair: 'repaired',
    'reset-memory': 'reset',
    update: 'updating',
  }
  for (const [action, word] of Object.entries(words)) {
    expect(await change(action)).toEqual({ success: true, status: word })
    expect(await status()).toBe('running')
  }
})

test('POST /api/instance/:userId/:action: an error with the reason when the action fails, 400 when the image is invalid', async () => {
  const { web, signIn } = testPlatform({ environment: { SIGN_UP: 'open' } })
  const { cookie } = await signIn('ada@example.com', 'network')
  const created = await web.request('/api/agents', json('POST', { name: 'Ada' }, cookie))
  const { agent } = await read(Created, created)
  const failed = await web.request(`/api/instance/${agent.id}/stop`, json('POST', {}, cookie))
  expect(failed.status).toBe(500)
  expect(await failed.json()).toEqual({ success: false, error: 'This test has no runtime' })
  const bad = await web.request(`/api/instance/${agent.id}/update`, json('POST', { image: 'a;b' }, cookie))
  expect(bad.status).toBe(400)
  expect(await bad.json()).toEqual({ error: 'Invalid docker image value' })
})

test.each(ROUTES)(
  '%s /api/instance/:userId%s: 401 without a session, 404 without an agent and for another user’s',
  async (method, part) => {
    const { web, platform, signIn } = testPlatform()
    const { cookie, user } = await signIn('ada@example.com', 'network')
    const stranger = await signIn('eve@example.com', 'network')
    const created = await web.request('/api/agents', json('POST', { name: 'Ada' }, cookie))
    const { agent } = await read(Created, created)
    const before = dumpTables(platform.db)
    expect((await web.request(`/api/instance/${user.id}${part}`, { method })).status).toBe(401)
    for (const name of [user.id, agent.id, stranger.user.id, 'nobody']) {
      const response = await web.request(`/api/instance/${name}${part}`, { method, headers: stranger.cookie })
      expect({ status: response.status, body: await response.json() }).toEqual({ status: 404, body: NOT_FOUND })
    }
    expect(dumpTables(platform.db)).toBe(before)
  },
)

test('GET /api/instance/:userId: 429 when one address exceeds its rate', async () => {
  const { web, signIn } = testPlatform({ environment: { RATE_LIMIT_INSTANCE: '1' } })
  const { cookie, user } = await signIn()
  const ask = () => web.request(`/api/instance/${user.id}`, { headers: cookie })
  expect((await ask()).status).toBe(404)
  expect((await ask()).status).toBe(429)
})

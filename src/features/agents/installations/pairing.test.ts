import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { VERSION } from '../../../core/version.ts'
import { CreatedKey } from '../../accounts/keys/schemas.ts'
import { agents } from '../registry/tables.ts'
import { Installations, PairedMachine, PairingCode } from './schemas.ts'
import { installations, pairingCodes } from './tables.ts'
import { createTunnelRecorder, forgetTunnels, reportOffline } from './tunnel-state.ts'

const MINUTE_MS = 60_000

async function openTest(environment: Record<string, string> = {}) {
  const test = testPlatform({ environment })
  const ada = await test.signIn()
  const create = (headers: Record<string, string> = ada.cookie) =>
    test.web.request('/api/installations/pairing-codes', { method: 'POST', headers })
  const pair = (code: string, machine: object = {}) =>
    test.backend.request(
      '/api/installations/pair',
      json('POST', { code, mode: 'home', name: 'attic', version: VERSION, ...machine }),
    )
  return {
    ...test,
    ada,
    create,
    newCode: async () => (await read(PairingCode, create())).code,
    pair,
    list: async () =>
      (await read(Installations, test.web.request('/api/installations', { headers: ada.cookie }))).installations,
  }
}

test('POST /api/installations/pairing-codes: 201 with a code that is stored as a hash', async () => {
  const { create, platform, clock } = await openTest()
  const { code, expiresAt } = await read(PairingCode, create())
  expect(code).toMatch(/^[2-9A-HJKMNP-TV-Z]{4}-[2-9A-HJKMNP-TV-Z]{4}$/)
  expect(new Date(expiresAt).getTime()).toBe(clock.now().getTime() + 10 * MINUTE_MS)
  const row = platform.db.select().from(pairingCodes).get()
  expect(JSON.stringify(row)).not.toContain(code.slice(0, 4))
  expect((await create({})).status).toBe(401)
})

test('POST /api/installations/pairing-codes: 429 at 10 unused codes, 403 when the key lacks the scope', async () => {
  const { create, web, ada, clock } = await openTest()
  for (let count = 0; count < 10; count++) expect((await create()).status).toBe(201)
  expect((await create()).status).toBe(429)
  clock.advance(10 * MINUTE_MS)
  expect((await create()).status).toBe(201)
  const keys = web.request('/api/keys', json('POST', { name: 'reader', scopes: ['read'] }, ada.cookie))
  expect((await create(bearer((await read(CreatedKey, keys)).key))).status).toBe(403)
})

test('POST /api/installations/pair: 201 with valid credentials, and the machine is listed with its agent', async () => {
  const { newCode, pair, list, web, backend, ada } = await openTest()
  const code = await newCode()
  const response = await pair(` ${code.toLowerCase().replace('-', ' ')} `, {
    agentKind: 'openclaw',
    gatewayToken: 'gw_1',
  })
  expect(response.status).toBe(201)
  expect(response.headers.get('cache-control')).toBe('no-store')
  const paired = PairedMachine.parse(await response.json())
  expect(paired).toMatchObject({ userId: ada.user.id, name: 'attic', version: VERSION })
  expect(await list()).toMatchObject([
    {
      id: paired.installationId,
      name: 'attic',
      mode: 'home',
      agentId: paired.agentId,
      version: VERSION,
      platformVersion: VERSION,
      versionProblem: null,
      tunnel: { state: 'offline', since: null },
    },
  ])
  const agent = await web.request(`/api/agents/${paired.agentId}`, { headers: ada.cookie })
  expect(await agent.json()).toMatchObject({ agent: { name: 'attic', status: 'error', runtime: 'machine' } })

  const update = { version: VERSION, gatewayUrl: 'http://127.0.0.1:18789', gatewayToken: 'gw_2' }
  const self = await backend.request('/api/installations/self', json('PUT', update, bearer(paired.token)))
  expect(await self.json()).toMatchObject({ installationId: paired.installationId, agentId: paired.agentId })
  const tunnel = `/api/installations/${paired.installationId}/tunnel`
  // A request without a handshake is past the guard.
  expect((await backend.request(tunnel, { headers: bearer(paired.token) })).status).toBe(400)
  // The token is the machine's, not the account's.
  for (const path of ['/api/keys', '/api/agents', '/api/installations']) {
    const answer = await web.request(path, { headers: bearer(paired.token) })
    expect(await answer.text()).not.toContain(paired.agentId)
  }
})

test('POST /api/installations/pair: 409 when the code is used or expired, 400 when it is unknown or malformed', async () => {
  const { newCode, pair, clock, list } = await openTest({ PAIRING_CODE_MINUTES: '0.5' })
  const used = await newCode()
  const answers = await Promise.all(Array.from({ length: 5 }, () => pair(used)))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409])
  expect(await (await pair(used)).json()).toMatchObject({ code: 'PAIRING_CODE_USED' })
  const late = await newCode()
  clock.advance(MINUTE_MS / 2)
  const expired = await pair(late)
  expect(expired.status).toBe(409)
  expect(await expired.json()).toEqual({
    error: 'This pairing code has expired: create a new one',
    code: 'PAIRING_CODE_EXPIRED',
  })
  expect((await pair('ABCDEFGH')).status).toBe(400)
  expect(await (await pair('ABC')).json()).toEqual({ error: 'code must have 8 characters' })
  expect(await list()).toHaveLength(1)
})

test('POST /api/installations/pair: 429 after 10 attempts of one address, and after 300 failures of all', async () => {
  const { api, newCode } = await openTest()
  const attempt = (address: string, code: string) =>
    api('backend', { address }).request('/api/installations/pair', json('POST', { code, name: 'x', version: VERSION }))
  const statuses: number[] = []
  for (let count = 0; count < 11; count++) statuses.push((await attempt('192.0.2.1', 'ABCDEFGH')).status)
  expect(statuses).toEqual([...Array(10).fill(400), 429])
  const code = await newCode()
  for (let count = 0; count < 290; count++)
    expect((await attempt(`198.51.100.${count % 250}`, 'ABCDEFGH')).status).toBe(400)
  const refused = await attempt('203.0.113.9', code)
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
})

test('POST /api/installations/pair: 409 with the command when the versions are too far apart; the code stays valid', async () => {
  const { newCode, pair } = await openTest()
  const code = await newCode()
  const refused = await pair(code, { version: '7.0.0' })
  expect(refused.status).toBe(409)
  expect(await refused.json()).toMatchObject({
    error: expect.stringContaining('run stead upgrade --from FILE on the server'),
    code: 'VERSION_UNSUPPORTED',
    version: VERSION,
  })
  expect((await pair(code)).status).toBe(201)
})

test('POST /api/installations/pair: 201 replaces the token when the name is the same', async () => {
  const { newCode, pair, backend, list } = await openTest()
  const first = PairedMachine.parse(await (await pair(await newCode())).json())
  const second = PairedMachine.parse(await (await pair(await newCode())).json())
  expect(second).toMatchObject({ installationId: first.installationId, agentId: first.agentId })
  const self = async (token: string) =>
    (await backend.request('/api/installations/self', json('PUT', { version: VERSION }, bearer(token)))).status
  expect([await self(first.token), await self(second.token)]).toEqual([401, 200])
  expect(await list()).toHaveLength(1)
})

test('PUT /api/installations/self: 409 when the versions are too far apart, which the list then shows', async () => {
  const { newCode, pair, backend, list } = await openTest()
  const { token } = PairedMachine.parse(await (await pair(await newCode())).json())
  const refused = await backend.request('/api/installations/self', json('PUT', { version: '7.0.0' }, bearer(token)))
  expect(refused.status).toBe(409)
  expect(await list()).toMatchObject([
    { version: '7.0.0', platformVersion: VERSION, versionProblem: expect.stringContaining('run stead upgrade') },
  ])
})

test('createTunnelRecorder reports when a machine is back after a reported outage, and its agent runs again', async () => {
  const { newCode, pair, platform, clock, list } = await openTest()
  const { installationId, agentId } = PairedMachine.parse(await (await pair(await newCode())).json())
  await forgetTunnels(platform.agents)
  clock.advance(6 * MINUTE_MS)
  await reportOffline(platform.agents)
  const notices: { kind: string; text: string }[] = []
  let port: number | null = 4321
  const links = { stateOf: () => ({ port, latencyMs: null }), remove: () => undefined }
  const sendNotice = (_tx: unknown, { kind, text }: { kind: string; text: string }) => void notices.push({ kind, text })
  const record = createTunnelRecorder({ ...platform, sendNotice }, () => links)
  const agent = () => platform.db.select().from(agents).where(eq(agents.id, agentId)).get()
  record(installationId)
  await until('the agent', async () => agent()?.tunnelPort === 4321)
  expect(agent()).toMatchObject({ status: 'running', downAt: null, lastError: null })
  expect(notices).toEqual([{ kind: 'recovered', text: 'The machine “attic” is back online.' }])
  port = null
  record(installationId)
  await until('the outage', async () => agent()?.tunnelPort === null)
  expect(agent()).toMatchObject({ lastError: 'The machine is offline' })
  expect(await list()).toMatchObject([{ tunnel: { state: 'offline', since: clock.now().toISOString() } }])
})

test('PUT /api/installations/self and GET /api/installations/:id/tunnel: 401 with other credentials, 404 for another user’s machine', async () => {
  const { newCode, pair, backend, web, signIn } = await openTest()
  const paired = PairedMachine.parse(await (await pair(await newCode())).json())
  const other = PairedMachine.parse(await (await pair(await newCode(), { name: 'cellar' })).json())
  const eve = await signIn('eve@example.com')
  const key = (await read(CreatedKey, web.request('/api/keys', json('POST', { name: 'eve', scopes: [] }, eve.cookie))))
    .key
  const tunnel = async (headers: Record<string, string>) =>
    (await backend.request(`/api/installations/${paired.installationId}/tunnel`, { headers })).status
  expect(await tunnel({})).toBe(401)
  expect(await tunnel(bearer('agt_unknown'))).toBe(401)
  expect(await tunnel(bearer(INTERNAL_KEY))).toBe(401)
  expect(await tunnel(bearer(key))).toBe(404)
  expect(await tunnel(bearer(other.token))).toBe(404)
  const self = await backend.request('/api/installations/self', json('PUT', { version: VERSION }, bearer(key)))
  expect(self.status).toBe(401)
})

test('DELETE /api/installations/:id: 200 ends the token of the machine and deletes its agent', async () => {
  const { newCode, pair, backend, web, ada, list, platform } = await openTest()
  const paired = PairedMachine.parse(await (await pair(await newCode())).json())
  const path = `/api/installations/${paired.installationId}`
  expect((await web.request(path, { method: 'DELETE', headers: ada.cookie })).status).toBe(200)
  expect(await list()).toEqual([])
  expect(platform.db.select().from(agents).all()).toEqual([])
  const self = await backend.request('/api/installations/self', json('PUT', { version: VERSION }, bearer(paired.token)))
  expect(self.status).toBe(401)
})

test('POST /api/chat: 503 MACHINE_OFFLINE with the time when the machine is offline; stop, restart and start are 409', async () => {
  const { newCode, pair, web, ada, platform, clock } = await openTest()
  const paired = PairedMachine.parse(await (await pair(await newCode(), { gatewayToken: 'gw_1' })).json())
  await forgetTunnels(platform.agents)
  const question = { agentId: paired.agentId, message: 'Hello' }
  const chat = await web.request('/api/chat', json('POST', question, ada.cookie))
  expect(chat.status).toBe(503)
  expect(await chat.json()).toMatchObject({
    error: `The machine of this agent is offline since ${clock.now().toISOString()}`,
    code: 'MACHINE_OFFLINE',
  })
  for (const action of ['stop', 'restart', 'start']) {
    const path = `/api/agents/${paired.agentId}/${action}`
    const response = await web.request(path, { method: 'POST', headers: ada.cookie })
    expect([action, response.status]).toEqual([action, 409])
    expect(await response.json()).toMatchObject({ code: 'RUNS_ON_MACHINE' })
  }
})

test('reportOffline notifies the owner once per outage after five minutes, and when the machine is back', async () => {
  const { newCode, pair, platform, clock, web, ada } = await openTest()
  await pair(await newCode())
  await forgetTunnels(platform.agents)
  const notices = async () => {
    await reportOffline(platform.agents)
    const response = await web.request('/api/notices', { headers: ada.cookie })
    return ((await response.json()) as { notices: { kind: string; text: string }[] }).notices
  }
  clock.advance(5 * MINUTE_MS)
  expect(await notices()).toEqual([])
  const since = new Date(clock.now().getTime() - 5 * MINUTE_MS).toISOString().slice(0, 16).replace('T', ' ')
  clock.advance(1)
  const expected = { kind: 'down', text: `The machine “attic” has been offline since ${since} UTC.` }
  expect(await notices()).toMatchObject([expected])
  clock.advance(60 * MINUTE_MS)
  expect(await notices()).toMatchObject([expected])
  expect(platform.db.select().from(installations).where(eq(installations.isOfflineNoticed, true)).all()).toHaveLength(1)
})

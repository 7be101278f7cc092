import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { createAgent, type Person, signIn, signUp } from '../../../../tests/harness/client.ts'
import { type ProviderDouble, startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { roundsOf } from '../../../../tests/harness/rounds.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { findAgentPids, openInstallation, SERVICE_KEY, startServer } from '../../../../tests/harness/server.ts'
import { until } from '../../../../tests/harness/until.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { agentFolder, findRecord } from '../../../adapters/runtimes/process/files.ts'
import { write } from '../../../db/write.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { SentMessage } from '../../conversations/chat/schemas.ts'
import { insertAgent, openTokens } from '../registry/agents.ts'
import { WebAgentDetail } from '../registry/schemas.ts'
import { agents } from '../registry/tables.ts'

/** Each test restarts the agent. */
const ROTATIONS = roundsOf('ROTATIONS', 4)
const Token = z.object({ token: z.string().regex(/^gw_[0-9A-Za-z]{43}$/) })
const Rotated = z.object({ success: z.literal(true), status: z.string(), token: z.string() })
const MODEL = 'openai/gpt-4o-mini'
const withProvider = ({ baseUrl }: ProviderDouble) => ({ OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: baseUrl })

/** The environment of an agent's process, as visible on this machine. */
function lookAt(dataDir: string, id: string) {
  const folder = agentFolder(join(dataDir, 'agents'), id)
  const url = async (path: string) => `http://127.0.0.1:${(await findRecord(folder))?.spec.port}${path}`
  return {
    pid: async () => (await findAgentPids(dataDir)).get(id),
    /** Returns `refused` for 401. */
    openWith: async (token: string) =>
      (await fetch(await url('/sessions/any/history'), { headers: bearer(token) })).status === 401 ? 'refused' : 'open',
    platformToken: async () => (await Bun.file(join(folder.secrets, 'PLATFORM_TOKEN')).text()).trim(),
  }
}

async function tokenOf(person: Person, id: string): Promise<string> {
  return (await read(Token, person.get(`/api/agents/${id}/token`))).token
}

async function statusOf(person: Person, id: string): Promise<string> {
  return (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
}

test('POST /api/agents/:id/token/rotate: 200 with a new token; the old one is invalid, and chat works', async () => {
  await using provider = await startProvider({ text: 'Tea.' })
  await using server = await startServer(withProvider(provider))
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person, { model: MODEL })
  const agent = lookAt(server.dataDir, agentId)
  const say = (message: string) => read(SentMessage, person.post('/api/chat', { agentId, message }))
  await say('My name is Ada')
  const old = await tokenOf(person, agentId)

  const answer = await read(Rotated, person.post(`/api/agents/${agentId}/token/rotate`, {}))
  expect(answer.status).toBe('running')
  expect(await tokenOf(person, agentId)).toBe(answer.token)
  expect([await agent.openWith(old), await agent.openWith(answer.token)]).toEqual(['refused', 'open'])
  expect((await say('Who am I?')).reply).toBe('Tea.')
  expect(JSON.stringify(provider.chats.at(-1)?.body.messages)).toContain('My name is Ada')

  // The backend API, for the operator, with its own status.
  const again = await fetch(`${server.urls.backend}/api/agents/${agentId}/token/rotate`, {
    method: 'POST',
    headers: bearer(SERVICE_KEY),
  })
  const { token, status } = await read(Rotated, again)
  expect(status).toBe('active')
  expect([await agent.openWith(answer.token), await agent.openWith(token)]).toEqual(['refused', 'open'])
  for (const secret of [old, answer.token, token]) expect(server.logLines.join('\n')).not.toContain(secret)
}, 600_000)

test('POST /api/agents/:id/platform-token/rotate: 200 without a token, and the old one is invalid', async () => {
  await using provider = await startProvider({ text: 'Tea.' })
  await using server = await startServer(withProvider(provider))
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person, { model: MODEL })
  const agent = lookAt(server.dataDir, agentId)
  const models = async (token: string) =>
    (await fetch(`${server.urls.backend}/v1/models`, { headers: bearer(token) })).status
  const [old, gatewayToken] = [await agent.platformToken(), await tokenOf(person, agentId)]
  expect(await models(old)).toBe(200)

  const response = await person.post(`/api/agents/${agentId}/platform-token/rotate`, {})
  expect([response.status, await response.json()]).toEqual([200, { success: true, status: 'running' }])
  const now = await agent.platformToken()
  expect(now).not.toBe(old)
  expect([await models(old), await models(now)]).toEqual([401, 200])
  expect(await tokenOf(person, agentId)).toBe(gatewayToken)
  expect((await read(SentMessage, person.post('/api/chat', { agentId, message: 'Hi' }))).reply).toBe('Tea.')
}, 600_000)

test.each(['token', 'platform-token'])(
  'POST /api/agents/:id/%s/rotate: 200 during a turn, which ends with the token it started with',
  async (name) => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let asked = 0
    await using provider = await startProvider(async () => {
      const gate = gates[asked++]
      await gate?.promise
      // The turn's second model call comes after the agent was asked to end.
      return asked === 1 ? { toolCalls: [{ name: 'list_files', arguments: {} }] } : { text: 'Tea.' }
    })
    await using server = await startServer(withProvider(provider))
    const person = await signUp(server.urls.web)
    const agentId = await createAgent(person, { model: MODEL })
    const turn = person.post('/api/chat', { agentId, message: 'When is tea?' })
    await until('the agent asks a model', () => provider.chats.length === 1)
    const rotation = person.post(`/api/agents/${agentId}/${name}/rotate`, {})
    await until('the agent is to be started anew', async () => (await statusOf(person, agentId)) === 'provisioning')
    for (const gate of gates) gate.resolve()
    expect((await read(SentMessage, turn)).reply).toBe('Tea.')
    expect(provider.chats).toHaveLength(2)
    expect((await rotation).status).toBe(200)
  },
  600_000,
)

test('POST /api/agents/:id/token/rotate: 200 when the agent is stopped, which later starts with both new tokens', async () => {
  await using server = await startServer({ AI_ECHO: 'true' })
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person, { model: 'local/echo' })
  const agent = lookAt(server.dataDir, agentId)
  const [oldGateway, oldPlatform] = [await tokenOf(person, agentId), await agent.platformToken()]
  await person.post(`/api/agents/${agentId}/stop`, {})
  const { status, token } = await read(Rotated, person.post(`/api/agents/${agentId}/token/rotate`, {}))
  expect(status).toBe('stopped')
  await person.post(`/api/agents/${agentId}/platform-token/rotate`, {})
  expect(await agent.pid()).toBeUndefined()
  // Nothing runs that needs the new token first.
  expect((await fetch(`${server.urls.backend}/v1/models`, { headers: bearer(oldPlatform) })).status).toBe(401)
  await person.post(`/api/agents/${agentId}/start`, {})
  expect([await agent.openWith(oldGateway), await agent.openWith(token)]).toEqual(['refused', 'open'])
  expect((await person.post('/api/chat', { agentId, message: 'Hi' })).status).toBe(200)
}, 600_000)

test('POST /api/agents/:id/repair: 200 when the agent is stopped, which starts with the rotated token', async () => {
  await using server = await startServer({ WATCHDOG_KILL_WAIT: '0.05' })
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person)
  const agent = lookAt(server.dataDir, agentId)
  const old = await tokenOf(person, agentId)
  await person.post(`/api/agents/${agentId}/stop`, {})
  const { token } = await read(Rotated, person.post(`/api/agents/${agentId}/token/rotate`, {}))
  await person.post(`/api/agents/${agentId}/repair`, {})
  expect([await agent.openWith(old), await agent.openWith(token)]).toEqual(['refused', 'open'])
}, 600_000)

test(`POST /api/agents/:id/token/rotate: one valid token is left when ${ROTATIONS} rotations are concurrent`, async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person)
  const answers = await Promise.all(
    Array.from({ length: ROTATIONS }, () => person.post(`/api/agents/${agentId}/token/rotate`, {})),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(ROTATIONS).fill(200))
  const agent = lookAt(server.dataDir, agentId)
  expect(await agent.openWith(await tokenOf(person, agentId))).toBe('open')
  expect(await statusOf(person, agentId)).toBe('running')
}, 600_000)

test.each(['token', 'platform-token'])(
  'POST /api/agents/:id/%s/rotate: completed by the next start when the platform crashes',
  async (name) => {
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
    let program = await installation.start()
    let person = await signUp(program.urls.web)
    const agentId = await createAgent(person, { model: 'local/echo' })
    const agent = lookAt(installation.dataDir, agentId)
    const [oldGateway, oldPlatform] = [await tokenOf(person, agentId), await agent.platformToken()]
    const rotation = person.post(`/api/agents/${agentId}/${name}/rotate`, {}).catch(() => null)
    await until('the agent is to be started anew', async () => (await statusOf(person, agentId)) === 'provisioning')
    await program.kill()
    await rotation
    program = await installation.start()
    person = await signIn(program.urls.web)
    await until('the agent runs', async () => (await statusOf(person, agentId)) === 'running')
    if (name === 'token') expect(await agent.openWith(oldGateway)).toBe('refused')
    else {
      const models = await fetch(`${program.urls.backend}/v1/models`, { headers: bearer(oldPlatform) })
      expect(models.status).toBe(401)
    }
    expect(await agent.openWith(await tokenOf(person, agentId))).toBe('open')
    expect((await person.post('/api/chat', { agentId, message: 'Hi' })).status).toBe(200)
  },
  600_000,
)

test('POST /api/agents/:id/token/rotate: 500 when the engine does not respond, and nothing changes', async () => {
  const { web, platform, signIn: enter } = testPlatform({ runtime: createNoRuntime('docker', 'No engine answers') })
  const { cookie, user } = await enter()
  const row = { ownerId: user.id, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' } as const
  const { id } = await write(platform.db, (tx) => {
    const agent = insertAgent(platform, tx, { ...row, status: 'running' })
    return tx.update(agents).set({ port: 20_000, runtime: 'docker' }).where(eq(agents.id, agent.id)).returning().get()
  })
  const before = dumpTables(platform.db)
  for (const name of ['token', 'platform-token']) {
    const response = await web.request(`/api/agents/${id}/${name}/rotate`, json('POST', {}, cookie))
    expect([response.status, await response.json()]).toEqual([500, { error: 'No engine answers' }])
  }
  expect(dumpTables(platform.db)).toBe(before)
})

test('a rotated platform token is valid for pending turns for at most five minutes', async () => {
  const { web, backend, platform, clock, signIn: enter } = testPlatform()
  const { cookie, user } = await enter('ada@example.com', 'network')
  const row = { ownerId: user.id, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' } as const
  const agent = await write(platform.db, (tx) => insertAgent(platform, tx, { ...row, status: 'pending' }))
  const old = openTokens(platform.sealer, agent)
  const models = async (token: string) => (await backend.request('/v1/models', { headers: bearer(token) })).status
  for (const name of ['token', 'platform-token'])
    expect((await web.request(`/api/agents/${agent.id}/${name}/rotate`, json('POST', {}, cookie))).status).toBe(200)
  expect(await models(old.accessToken)).toBe(401)
  // As after a crash before the agent got its token.
  await write(platform.db, (tx) => tx.update(agents).set({ retiringTokenHash: agent.accessTokenHash }).run())
  expect(await models(old.accessToken)).toBe(200)
  clock.advance(5 * 60_000)
  expect(await models(old.accessToken)).toBe(401)
  expect(platform.db.select().from(auditLog).all()).toMatchObject([
    { actor: user.id, action: 'agent.rotate-gateway-token', target: agent.id },
    { actor: user.id, action: 'agent.rotate-platform-token', target: agent.id },
  ])
  const [now] = platform.db.select().from(agents).all()
  expect(now && openTokens(platform.sealer, now)).not.toMatchObject({ gatewayToken: old.gatewayToken })
  expect(dumpTables(platform.db)).not.toContain(old.accessToken)
})

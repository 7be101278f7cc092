import { expect, test } from 'bun:test'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { createAgent, type Person, signUp } from '../../../../tests/harness/client.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { findAgentPids, SERVICE_KEY, startServer, type TestServer } from '../../../../tests/harness/server.ts'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { until } from '../../../../tests/harness/until.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { agentFolder, findRecord } from '../../../adapters/runtimes/process/files.ts'
import { write } from '../../../db/write.ts'
import { SessionResponse } from '../../accounts/registration/schemas.ts'
import { insertAgent } from '../registry/agents.ts'
import { WebAgentDetail, WebAgentList } from '../registry/schemas.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { DeploymentList } from './schemas.ts'

const PROGRAMS = join(import.meta.dir, '..', '..', '..', '..', 'tests', 'harness', 'programs')
const FAILING_AGENT = join(PROGRAMS, 'failing-agent.ts')
const HELD_AGENT = join(PROGRAMS, 'held-agent.ts')
/** Removes the pauses of repairs. */
const OPERATOR = bearer(INTERNAL_KEY)
const QUICK = { WATCHDOG_KILL_WAIT: '0.05' }

async function statusOf(person: Person, id: string): Promise<string> {
  return (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
}

async function pidOf({ dataDir }: TestServer, id: string): Promise<number | undefined> {
  return (await findAgentPids(dataDir)).get(id)
}

function askBackend({ urls }: TestServer, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${urls.backend}${path}`, { ...init, headers: { ...bearer(SERVICE_KEY), ...init.headers } })
}

test('POST /api/agents/:id/update: 200 with another process and a backup, on both APIs', async () => {
  await using server = await startServer(QUICK)
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const before = await pidOf(server, id)
  const response = await person.post(`/api/agents/${id}/update`, {})
  expect(response.status).toBe(200)
  const answer = { success: true, image: null, previousImage: null, runtimeVersion: expect.any(String) }
  const body: unknown = await response.json()
  expect(body).toEqual({ ...answer, status: 'running', backupPath: expect.stringContaining(`backups/agents/${id}/`) })
  const { backupPath } = z.object({ backupPath: z.string() }).parse(body)
  expect(existsSync(join(server.dataDir, backupPath))).toBe(true)
  expect(await pidOf(server, id)).not.toBe(before)

  // A named image is answered with the reason why it was not used.
  const named = await person.post(`/api/agents/${id}/update`, { image: 'stead-agent:9' })
  expect(await named.json()).toMatchObject({ message: expect.stringContaining('Images do not apply') })

  // Without a body: a restart on the current version.
  const again = await askBackend(server, `/api/agents/${id}/update`, { method: 'POST' })
  expect(await again.json()).toEqual({ ...answer, status: 'active', backupPath: expect.any(String) })
  expect(await statusOf(person, id)).toBe('running')
})

test('GET /api/agents/:id/deployments: 200 with the reason when an update failed and was rolled back', async () => {
  using folder = tempFolder()
  const gate = folder.file('gate')
  await using server = await startServer(QUICK, [process.execPath, FAILING_AGENT, gate])
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  await Bun.write(gate, '')
  const response = await person.post(`/api/agents/${id}/update`, {})
  expect(response.status).toBe(500)
  const reason = 'The agent ended before it was healthy (exit code 78)'
  expect(await response.json()).toEqual({
    error: `${reason}. The agent went back, and runs on its version again`,
    code: 'ROLLED_BACK',
    rolledBack: true,
    image: null,
    previousImage: null,
  })
  const message = { status: 'running', lastError: `${reason}. The agent went back, and runs on its version again` }
  expect((await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent).toMatchObject(message)
  expect((await read(WebAgentList, person.get('/api/agents'))).agents).toMatchObject([message])
  expect(await (await askBackend(server, `/api/agents/${id}`)).json()).toMatchObject({ ...message, status: 'active' })
  expect(await askAgent(server, id, '/poison')).toBe('false')
  const { deployments } = await read(DeploymentList, person.get(`/api/agents/${id}/deployments`))
  expect(deployments[0]).toMatchObject({ kind: 'update', result: 'rolled-back', reason })
  expect(deployments[0]?.logTail).toContain('the new version does not work here')

  expect((await person.post(`/api/agents/${id}/restart`, {})).status).toBe(200)
  expect((await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent).toMatchObject({ lastError: null })
})

test.each(['a;b', '../agent', 'agent image', '$HOME', '`id`', '', 7, null])(
  'POST /api/agents/:id/update: 400 when the image is %p, on both APIs, and nothing changes',
  async (image) => {
    const { web, backend, platform, signIn } = testPlatform()
    const { cookie, user } = await signIn()
    const { id } = await addAgent(platform, user.id)
    const before = dumpTables(platform.db)
    for (const asking of [
      web.request(`/api/agents/${id}/update`, json('POST', { image }, cookie)),
      backend.request(`/api/agents/${id}/update`, json('POST', { image }, OPERATOR)),
    ]) {
      const response = await asking
      expect({ status: response.status, body: await response.json() }).toEqual({
        status: 400,
        body: { error: 'Invalid docker image value' },
      })
    }
    expect(dumpTables(platform.db)).toBe(before)
  },
)

const ROUTES: [method: string, path: string][] = [
  ...['start', 'stop', 'restart', 'update', 'repair', 'reset-memory'].map((action): [string, string] => [
    'POST',
    action,
  ]),
  ...['deployments', 'stats', 'token'].map((part): [string, string] => ['GET', part]),
]

test.each(ROUTES)(
  '%s /api/agents/:id/%s: 401 without a session, 404 for a stranger and a missing agent',
  async (method, part) => {
    const { web, backend, platform, signIn } = testPlatform()
    const { user } = await signIn()
    const stranger = await signIn('eve@example.com')
    const { id } = await addAgent(platform, user.id)
    const before = dumpTables(platform.db)
    const path = `/api/agents/${id}/${part}`
    expect((await web.request(path, { method })).status).toBe(401)
    expect((await backend.request(path, { method })).status).toBe(401)
    const headers = stranger.cookie
    const message = [
      web.request(path, { method, headers }),
      web.request(`/api/agents/nobody/${part}`, { method, headers }),
      backend.request(path, { method, headers: { ...OPERATOR, 'x-user-id': stranger.user.id } }),
      backend.request(`/api/agents/nobody/${part}`, { method, headers: OPERATOR }),
    ]
    for (const response of await Promise.all(message)) {
      expect({ status: response.status, body: await response.json() }).toEqual({
        status: 404,
        body: { error: 'Agent not found' },
      })
    }
    expect(dumpTables(platform.db)).toBe(before)
  },
)

test('POST /api/agents/:id/repair: 200 with another process, 500 when the agent is not healthy afterwards', async () => {
  using folder = tempFolder()
  const gate = folder.file('gate')
  await using server = await startServer(QUICK, [process.execPath, FAILING_AGENT, gate])
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const before = await pidOf(server, id)
  const answer = { success: true, message: 'Agent repaired successfully' }
  expect(await (await person.post(`/api/agents/${id}/repair`, {})).json()).toEqual(answer)
  expect(await pidOf(server, id)).not.toBe(before)
  const init = { method: 'POST' }
  expect(await (await askBackend(server, `/api/agents/${id}/repair`, init)).json()).toEqual(answer)
  expect(await statusOf(person, id)).toBe('running')

  await Bun.write(gate, '')
  const failed = await person.post(`/api/agents/${id}/repair`, {})
  expect(failed.status).toBe(500)
  expect(await failed.json()).toEqual({ error: 'The agent was not healthy after its repair' })
  expect(await statusOf(person, id)).toBe('error')
})

test.each(['update', 'repair'] as const)(
  'POST /api/agents/:id/stop: 200 during an %s, and the state is unchanged',
  async (action) => {
    using folder = tempFolder()
    const gate = folder.file('gate')
    await Bun.write(gate, '')
    await using server = await startServer(QUICK, [process.execPath, HELD_AGENT, gate])
    const person = await signUp(server.urls.web)
    const id = await createAgent(person)
    rmSync(gate)
    const changing = person.post(`/api/agents/${id}/${action}`, {})
    const newest = async () =>
      (await read(DeploymentList, person.get(`/api/agents/${id}/deployments`))).deployments[0] ?? null
    await until('the wait for its health', async () => (await newest())?.step === 'health')
    await until('its new process', () => pidOf(server, id))
    expect(await (await person.post(`/api/agents/${id}/stop`, {})).json()).toEqual({ success: true, status: 'stopped' })
    const response = await changing
    expect(`${response.status} ${await response.text()}`).toBe('409 {"error":"The agent was stopped"}')
    expect(await newest()).toMatchObject({ kind: action, result: 'cancelled' })
    expect(await statusOf(person, id)).toBe('stopped')
    await until('the end of its process', async () => (await pidOf(server, id)) === undefined)
  },
)

test('POST /api/agents/:id/reset-memory: 200 after a snapshot, and the memory is empty', async () => {
  await using server = await startServer({ ...QUICK, AI_ECHO: 'true' })
  const person = await signUp(server.urls.web)
  const id = await createAgent(person, { model: 'local/echo' })
  expect((await person.post('/api/chat', { agentId: id, message: 'My name is Ada' })).status).toBe(200)
  const { user } = await read(SessionResponse, person.get('/api/auth/session'))
  const { token } = await read(Token, person.get(`/api/agents/${id}/token`))
  const remembered = () => askAgent(server, id, `/sessions/user%3A${user?.id}/history?limit=9`, bearer(token))
  expect(await remembered()).toContain('My name is Ada')

  const response = await person.post(`/api/agents/${id}/reset-memory`, {})
  expect(await response.json()).toEqual({ success: true, message: 'Memory reset successfully' })
  expect(await remembered()).not.toContain('My name is Ada')
  const [last] = (await read(DeploymentList, person.get(`/api/agents/${id}/deployments`))).deployments
  expect(existsSync(join(server.dataDir, last?.backupPath ?? 'nowhere'))).toBe(true)
  expect(last).toMatchObject({ kind: 'reset-memory', result: 'succeeded' })
})

test('GET /api/agents/:id/token: 200 with the gateway token, on both APIs', async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const { token } = await read(Token, person.get(`/api/agents/${id}/token`))
  expect(await read(Token, askBackend(server, `/api/agents/${id}/token`))).toEqual({ token })
  const opened = (headers: Record<string, string>) => askAgentStatus(server, id, '/sessions/any/history', headers)
  expect(await opened(bearer(token))).not.toBe(401)
  expect(await opened(bearer('gw_wrong'))).toBe(401)
})

test('GET /api/agents/:id/stats: 200 with null for unmeasured values', async () => {
  await using provider = await startProvider()
  await using server = await startServer({ OPENROUTER_API_KEY: 'sk-or-any', OPENROUTER_BASE_URL: provider.baseUrl })
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person, { model: 'openai/gpt-4o-mini' })
  const stats = async () => (await person.get(`/api/agents/${agentId}/stats`)).json()
  const unused = { messagesProcessed: 0, messagesPerHour: 0, averageResponseTime: 'N/A', successRate: 'N/A' }
  expect(await stats()).toMatchObject({
    status: 'ok',
    stats: { agentId, status: 'running', health: 'healthy', ...unused, errorRate: 'N/A' },
  })

  await person.post('/api/chat', { agentId, message: 'Hello' })
  provider.answerWith({ fault: { status: 400 } })
  expect((await person.post('/api/chat', { agentId, message: 'Hello?' })).ok).toBe(false)
  const used = { messagesProcessed: 2, messagesFailed: 1, messagesPerHour: 2, successRate: '50.00', errorRate: '50.00' }
  const measured = {
    cpu: expect.stringMatching(/^[\d.]+%$/),
    memory: expect.stringMatching(/^[\d.]+MiB \/ [\d.]+GiB$/),
    uptime: expect.any(Number),
    averageResponseTime: expect.any(Number),
    // The network use of a process is unknown.
    network: 'N/A',
  }
  expect(await stats()).toMatchObject({ stats: { ...used, ...measured } })

  await person.post(`/api/agents/${agentId}/stop`, {})
  expect(await stats()).toMatchObject({
    stats: { status: 'stopped', health: 'stopped', cpu: 'N/A', memory: 'N/A', uptime: 0, ...used },
  })
})

test('GET /api/agents/:id: 200 with unknown when the engine does not respond, and 500 for changes', async () => {
  const { web, backend, platform, signIn } = testPlatform({ runtime: createNoRuntime('docker', 'No engine answers') })
  await using _jobs = startJobs(platform)
  const { cookie, user } = await signIn()
  const { id } = await addAgent(platform, user.id)
  const detail = await web.request(`/api/agents/${id}`, { headers: cookie })
  expect(await read(WebAgentDetail, detail)).toMatchObject({ agent: { id, status: 'unknown' } })
  const shown = await backend.request(`/api/agents/${id}`, { headers: OPERATOR })
  expect(await shown.json()).toMatchObject({ id, status: 'unknown' })
  for (const action of ['stop', 'restart', 'update', 'repair', 'reset-memory']) {
    const response = await web.request(`/api/agents/${id}/${action}`, json('POST', {}, cookie))
    expect({ action, status: response.status, body: await response.json() }).toEqual({
      action,
      status: 500,
      body: { error: 'No engine answers' },
    })
    expect(platform.db.select().from(agents).get()?.status).toBe('running')
  }
  const stats = await web.request(`/api/agents/${id}/stats`, { headers: cookie })
  expect(await stats.json()).toMatchObject({
    stats: { status: 'unknown', health: 'unhealthy', cpu: 'N/A', uptime: null },
  })
})

test('DELETE /api/agents/:id: 200 moves its snapshots to the trash', async () => {
  await using server = await startServer(QUICK)
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  await person.post(`/api/agents/${id}/update`, {})
  const folder = join(server.dataDir, 'backups', 'agents', id)
  expect(existsSync(folder)).toBe(true)
  await person.delete(`/api/agents/${id}`)
  await until('the end of its snapshots', () => !existsSync(folder))
  const trash = readdirSync(join(server.dataDir, 'backups', 'trash'), { recursive: true, encoding: 'utf8' })
  expect(trash.filter((path) => path.includes(`/${id}@`) && path.endsWith('.tar.gz'))).toHaveLength(1)
})

const Token = z.object({ token: z.string().min(40) })

async function addAgent(platform: ReturnType<typeof testPlatform>['platform'], ownerId: string): Promise<AgentRow> {
  const row = { ownerId, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  return write(platform.db, (tx) => {
    const agent = insertAgent(platform, tx, row)
    tx.update(agents).set({ port: 20_000 }).where(eq(agents.id, agent.id)).run()
    return agent
  })
}

async function askAgentStatus({ dataDir }: TestServer, id: string, path: string, headers = {}): Promise<number> {
  return (await fetch(`${await agentUrl(dataDir, id)}${path}`, { headers })).status
}

async function askAgent({ dataDir }: TestServer, id: string, path: string, headers = {}): Promise<string> {
  return (await fetch(`${await agentUrl(dataDir, id)}${path}`, { headers })).text()
}

async function agentUrl(dataDir: string, id: string): Promise<string> {
  const record = await findRecord(agentFolder(join(dataDir, 'agents'), id))
  return `http://127.0.0.1:${record?.spec.port}`
}

import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent, type Person, signUp } from '../../../../tests/harness/client.ts'
import { findFreePorts } from '../../../../tests/harness/ports.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { findAgentPids, SERVICE_KEY, startServer, type TestServer } from '../../../../tests/harness/server.ts'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { until } from '../../../../tests/harness/until.ts'
import { readEvents } from '../../../../tests/harness/wires/events.ts'
import { VERSION } from '../../../core/version.ts'
import { SessionResponse } from '../../accounts/registration/schemas.ts'
import { AgentStatusEvent, ProvisionResponse, WebAgentDetail, WebAgentList } from '../registry/schemas.ts'

const HELD_AGENT = join(import.meta.dir, '..', '..', '..', '..', 'tests', 'harness', 'programs', 'held-agent.ts')
/** Output of a program with invalid settings. */
const BROKEN_AGENT = [process.execPath, '-e', 'process.exit(78)'] as const

/** Requests an agent without waiting for it. */
async function requestAgent({ urls }: TestServer, person: Person): Promise<string> {
  const request = json('POST', { name: 'Ada' }, { ...person.cookie, prefer: 'respond-async' })
  return (await read(ProvisionResponse, fetch(`${urls.web}/api/agents/provision`, request))).agent.id
}

/** Collects an agent's events until `isLast`, each once. */
async function follow(
  person: Person,
  id: string,
  isLast: (event: AgentStatusEvent) => boolean,
): Promise<AgentStatusEvent[]> {
  const events: AgentStatusEvent[] = []
  for await (const { event, data } of readEvents(await person.get(`/api/agents/${id}/events`))) {
    expect(event).toBe('status')
    events.push(AgentStatusEvent.parse(JSON.parse(data)))
    if (events.some(isLast)) break
  }
  return events
}

/** The response to a restart on the web. */
const RESTARTED = {
  success: true,
  status: 'running',
  healedLegacyModel: false,
  healMessage: 'skip:no-legacy',
  runtimeVersion: VERSION,
}

const isFinal = ({ step }: AgentStatusEvent) => step === 'running' || step === 'failed'

async function statusOf(person: Person, id: string): Promise<string> {
  return (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
}

async function pidOf({ dataDir }: TestServer, id: string): Promise<number | undefined> {
  return (await findAgentPids(dataDir)).get(id)
}

test('POST /api/deployments: 201 when it starts the agent, 200 with the same body when it runs already', async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const { user } = await read(SessionResponse, person.get('/api/auth/session'))
  const body = {
    agentId: 'ada-1',
    userId: user?.id,
    name: 'Ada Lovelace',
    config: { plan: 'network', telegramToken: 'x' },
  }
  const deploy = () => fetch(`${server.urls.backend}/api/deployments`, json('POST', body, bearer(SERVICE_KEY)))
  const created = await deploy()
  expect(created.status).toBe(201)
  const shape = {
    id: 'deploy-ada-1',
    agentId: 'ada-1',
    subdomain: 'ada-1.agents.localhost',
    url: 'https://ada-1.agents.localhost',
    status: 'active',
    runtimeVersion: expect.any(String),
  }
  expect(await created.json()).toEqual(shape)
  const pid = await pidOf(server, 'ada-1')
  const again = await deploy()
  expect(again.status).toBe(200)
  expect(await again.json()).toEqual(shape)
  expect(await pidOf(server, 'ada-1')).toBe(pid)
  const { agents } = await read(WebAgentList, person.get('/api/agents'))
  expect(agents).toMatchObject([{ id: 'ada-1', name: 'Ada Lovelace', status: 'running' }])
})

test('GET /api/agents/:id/events: 200 with every step from the request to a running agent, then its stop', async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const id = await requestAgent(server, person)
  const events = await follow(person, id, isFinal)
  expect(events.at(-1)).toEqual({ status: 'running', step: 'running', error: null, detail: null })
  for (const event of events.slice(0, -1)) {
    expect(event.status).toBe('provisioning')
    expect(['queued', 'port', 'starting', 'health', null]).toContain(event.step)
  }
  const following = follow(person, id, ({ status }) => status === 'stopped')
  expect((await person.post(`/api/agents/${id}/stop`, {})).status).toBe(200)
  expect((await following).at(-1)).toMatchObject({ status: 'stopped' })
})

test('GET /api/agents/:id/events: 200 until the agent is deleted', async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const following = follow(person, id, () => false)
  await person.delete(`/api/agents/${id}`)
  expect((await following)[0]).toMatchObject({ status: 'running' })
})

test('POST /api/deployments: 201 with the error and its reason when the deployment fails', async () => {
  await using server = await startServer({}, BROKEN_AGENT)
  const person = await signUp(server.urls.web)
  const response = await person.post('/api/agents/provision', { name: 'Ada' })
  expect(response.status).toBe(201)
  const reason = 'The agent ended before it was healthy (exit code 78)'
  const answer = await read(ProvisionResponse, response)
  expect(answer).toMatchObject({ success: true, error: reason, agent: { status: 'error', lastError: reason } })
  const { agent } = answer
  const [listed] = (await read(WebAgentList, person.get('/api/agents'))).agents
  expect(listed).toMatchObject({ id: agent.id, status: 'error', lastError: reason })
  const flat = await fetch(`${server.urls.backend}/api/agents/${agent.id}`, { headers: bearer(SERVICE_KEY) })
  expect(await flat.json()).toMatchObject({
    status: 'error',
    lastError: reason,
    startedAt: null,
    runtimeVersion: VERSION,
  })
  const instance = await person.get(`/api/instance/${agent.id}`)
  expect(await instance.json()).toMatchObject({ status: 'error', startedAt: null, runtimeVersion: VERSION })
  const ordered = await person.post('/api/provision', { name: 'Bo', agentType: 'business' })
  expect(await ordered.json()).toMatchObject({ status: 'error', error: reason })
  expect(await follow(person, agent.id, isFinal)).toEqual([
    { status: 'error', step: 'failed', error: reason, detail: null },
  ])
  const started = await person.post(`/api/agents/${agent.id}/start`, {})
  expect(started.status).toBe(500)
  expect(await started.json()).toEqual({ error: reason })
  await person.post(`/api/agents/${agent.id}/stop`, {})
  const detail = await read(WebAgentDetail, person.get(`/api/agents/${agent.id}`))
  expect(detail.agent).toMatchObject({ status: 'stopped', lastError: null })
})

test('POST /api/deployments: 201 with the next port when another program uses the first', async () => {
  const [basePort = 0] = await findFreePorts(1)
  using _other = Bun.serve({ port: basePort, hostname: '127.0.0.1', fetch: () => new Response('mine') })
  await using server = await startServer({ AGENTS_BASE_PORT: String(Math.min(basePort, 60_000)) })
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  expect(await statusOf(person, id)).toBe('running')
  expect(await (await fetch(`http://127.0.0.1:${basePort}`)).text()).toBe('mine')
})

test('POST /api/agents/:id/stop: 200 during a deployment, and the agent stays stopped', async () => {
  using folder = tempFolder()
  const gate = folder.file('gate')
  await using server = await startServer({}, [process.execPath, HELD_AGENT, gate])
  const person = await signUp(server.urls.web)
  const id = await requestAgent(server, person)
  await follow(person, id, ({ step }) => step === 'health')
  await until('the process of the agent', () => pidOf(server, id))

  const stopped = await person.post(`/api/agents/${id}/stop`, {})
  expect(await stopped.json()).toEqual({ success: true, status: 'stopped' })
  await Bun.write(gate, '')
  const events = await follow(person, id, isFinal)
  expect(events.at(-1)?.status).toBe('stopped')
  expect(await statusOf(person, id)).toBe('stopped')
  await until('the end of the process', async () => (await pidOf(server, id)) === undefined)

  expect(await (await person.post(`/api/agents/${id}/start`, {})).json()).toEqual({ success: true, status: 'running' })
})

test('POST /api/agents/:id/restart: 200 during a deployment, and one agent runs', async () => {
  using folder = tempFolder()
  const gate = folder.file('gate')
  await using server = await startServer({}, [process.execPath, HELD_AGENT, gate])
  const person = await signUp(server.urls.web)
  const id = await requestAgent(server, person)
  await follow(person, id, ({ step }) => step === 'health')
  const first = await until('the process of the agent', () => pidOf(server, id))
  const restarting = person.post(`/api/agents/${id}/restart`, {})
  await until('the end of the first process', () => !existsSync(`/proc/${first}`))
  await Bun.write(gate, '')
  expect(await (await restarting).json()).toEqual({ ...RESTARTED, runtimeVersion: null })
  expect(await statusOf(person, id)).toBe('running')
})

/** An agent that reports why it ends. */
const TALKING_AGENT = [process.execPath, '-e', 'console.error("no room for the model"); process.exit(3)'] as const

test('POST /api/agents/provision: an error with exit code and last output when the agent never becomes healthy', async () => {
  await using server = await startServer({}, TALKING_AGENT)
  const person = await signUp(server.urls.web)
  await requestAgent(server, person)
  const failed = await until('the deployment to fail', async () => {
    const { agents } = await read(WebAgentList, person.get('/api/agents'))
    return agents.find(({ status }) => status === 'error')
  })
  expect(failed.lastError).toContain('(exit code 3)')
  expect(failed.lastError).toContain('no room for the model')
})

test('DELETE /api/agents/:id: 200 during a deployment, and nothing is left', async () => {
  using folder = tempFolder()
  const gate = folder.file('gate')
  await using server = await startServer({}, [process.execPath, HELD_AGENT, gate])
  const person = await signUp(server.urls.web)
  const id = await requestAgent(server, person)
  await follow(person, id, ({ step }) => step === 'health')
  const pid = await until('the process of the agent', () => pidOf(server, id))

  expect((await person.delete(`/api/agents/${id}`)).status).toBe(200)
  await Bun.write(gate, '')
  await until('the end of the process', () => !existsSync(`/proc/${pid}`))
  await until('the end of its folder', () => !existsSync(join(server.dataDir, 'agents', id)))
  expect((await person.get(`/api/agents/${id}`)).status).toBe(404)
})

test('POST /api/agents/:id/stop, start and restart: 200 and the process stops or starts', async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const change = async (action: string) => (await person.post(`/api/agents/${id}/${action}`, {})).json()
  const first = await pidOf(server, id)

  expect(await change('start')).toEqual({ success: true, status: 'running' })
  expect(await pidOf(server, id)).toBe(first)
  expect(await change('stop')).toEqual({ success: true, status: 'stopped' })
  expect(await change('stop')).toEqual({ success: true, status: 'stopped' })
  expect(existsSync(`/proc/${first}`)).toBe(false)
  expect(await statusOf(person, id)).toBe('stopped')

  expect(await change('start')).toEqual({ success: true, status: 'running' })
  const second = await pidOf(server, id)
  expect(await change('restart')).toEqual(RESTARTED)
  const third = await pidOf(server, id)
  expect(new Set([first, second, third]).size).toBe(3)
  expect(await statusOf(person, id)).toBe('running')
})

test('GET /api/agents/:id: 200 with active in the backend API and running in the web API', async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const ask = async (action: string) => {
    const init = { method: 'POST', headers: bearer(SERVICE_KEY) }
    return (await fetch(`${server.urls.backend}/api/agents/${id}/${action}`, init)).json()
  }
  expect(await ask('restart')).toEqual({ ...RESTARTED, status: 'active' })
  expect(await ask('stop')).toEqual({ success: true, status: 'stopped' })
  expect(await ask('start')).toEqual({ success: true, status: 'active' })
  const detail = await fetch(`${server.urls.backend}/api/agents/${id}`, { headers: bearer(SERVICE_KEY) })
  expect(await detail.json()).toMatchObject({ id, status: 'active' })
})

test('DELETE /api/agents/:id: 200 ends the process, deletes its folder and frees its port', async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const pid = await pidOf(server, id)
  await person.delete(`/api/agents/${id}`)
  await until('the end of the process', () => !existsSync(`/proc/${pid}`))
  await until('the end of its folder', () => !existsSync(join(server.dataDir, 'agents', id)))
  await createAgent(person)
})

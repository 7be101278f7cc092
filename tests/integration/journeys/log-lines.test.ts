import { expect, test } from 'bun:test'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ProvisionResponse } from '../../../src/features/agents/registry/schemas.ts'
import { PASSWORD, signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { json, read } from '../../harness/requests.ts'
import { findAgentPids, startServer } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'
import { answerLikeAModel, withProvider } from './main-job.ts'

const Session = z.object({ user: z.object({ id: z.string() }) })
const Created = z.object({ agent: z.object({ id: z.string() }) })
type Line = Record<string, unknown>
const INFO = 30
const HELD_AGENT = join(import.meta.dir, '../..', 'harness', 'programs', 'held-agent.ts')

/**
 * Opens an installation with a signed-in user, who chooses the id of every request, and finds the log lines with an id.
 */
async function openTestInstallation(
  environment: Record<string, string> = {},
  agentCommand?: readonly [string, ...string[]],
) {
  const server = await startServer(environment, agentCommand)
  const person = await signUp(server.urls.web)
  const lines = () => server.logLines.map((line): Line => JSON.parse(line))
  const ask = (id: string, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) => {
    const headers = { ...person.cookie, 'x-request-id': id }
    const url = `${server.urls.web}${path}`
    return fetch(url, method === 'GET' || body === undefined ? { method, headers } : json(method, body, headers))
  }
  const linesOf = (id: string) => lines().filter(({ requestId }) => requestId === id)
  return { server, person, lines, ask, linesOf, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('each agent operation logs one line with agent and request', async () => {
  await using installation = await openTestInstallation()
  const { ask, linesOf, person } = installation
  const made = await read(ProvisionResponse, ask('req-provision', 'POST', '/api/agents/provision', { name: 'Ada' }))
  const agentId = made.agent.id
  for (const action of ['stop', 'start', 'restart', 'repair', 'reset-memory', 'token/rotate']) {
    const id = `req-${action.replace('/', '-')}`
    expect([action, (await ask(id, 'POST', `/api/agents/${agentId}/${action}`, {})).status]).toEqual([action, 200])
  }
  expect((await ask('req-delete', 'DELETE', `/api/agents/${agentId}`)).status).toBe(200)
  const created = await read(Created, ask('req-create-1', 'POST', '/api/agents', { name: 'Bo' }))

  const by = (await read(Session, person.get('/api/auth/session'))).user.id
  const expected = {
    'req-provision': { agentId, by, result: 'succeeded', msg: 'agent deploy' },
    'req-stop': { agentId, by, msg: 'agent stopped' },
    'req-start': { agentId, by, result: 'succeeded', msg: 'agent start' },
    'req-restart': { agentId, by, result: 'succeeded', msg: 'agent restart' },
    'req-repair': { agentId, by, result: 'succeeded', msg: 'agent repair' },
    'req-reset-memory': { agentId, by, result: 'succeeded', msg: 'agent reset-memory' },
    'req-delete': { agentId, by, msg: 'agent deleted' },
    'req-create-1': { agentId: created.agent.id, by, msg: 'agent created' },
  }
  for (const [id, line] of Object.entries(expected)) {
    expect([id, linesOf(id)]).toEqual([id, [expect.objectContaining({ level: INFO, ...line })]])
  }
  const rotation = await until('both lines of a rotation', () => {
    const found = linesOf('req-token-rotate')
    return found.length === 2 ? found : null
  })
  const words = rotation.map(({ msg }) => String(msg))
  expect(words.toSorted()).toEqual(['agent deploy', 'agent.rotate-gateway-token'])
}, 300_000)

test('each sign-in and administrative action logs one line with user and request', async () => {
  await using installation = await openTestInstallation()
  const { ask, linesOf, server } = installation
  const { user } = await read(Session, ask('req-session-1', 'GET', '/api/auth/session'))
  const signIn = (id: string, password: string) =>
    fetch(
      `${server.urls.web}/api/auth/login`,
      json('POST', { email: 'ada@example.com', password }, { 'x-request-id': id }),
    )
  expect((await signIn('req-wrong', 'no horse at all')).status).toBe(401)
  expect((await signIn('req-right', PASSWORD)).status).toBe(200)
  const line = { level: INFO, address: '127.0.0.1' }
  expect(linesOf('req-wrong')).toEqual([
    expect.objectContaining({ ...line, msg: 'sign-in refused', reason: 'Invalid email or password' }),
  ])
  expect(linesOf('req-right')).toEqual([expect.objectContaining({ ...line, msg: 'signed in', userId: user.id })])

  expect((await ask('req-change-1', 'PATCH', `/api/admin/users/${user.id}`, { plan: 'label' })).status).toBe(200)
  expect((await ask('req-ending-1', 'DELETE', `/api/admin/users/${user.id}/sessions`)).status).toBe(200)
  for (const [id, msg] of [
    ['req-change-1', 'account.change'],
    ['req-ending-1', 'account.end-sessions'],
  ] as const) {
    const found = await until(`the line of ${id}`, () => linesOf(id).length > 0 && linesOf(id))
    expect(found).toEqual([expect.objectContaining({ ...line, msg, actor: user.id, target: user.id })])
  }
}, 300_000)

test('one request id is sent from the web API to the agent, to the model and back', async () => {
  await using provider = await startProvider(answerLikeAModel)
  await using installation = await openTestInstallation(withProvider(provider))
  const { ask, linesOf, server, person } = installation
  const model = 'openai/gpt-4o-mini'
  const { agent } = await read(
    ProvisionResponse,
    ask('req-provision', 'POST', '/api/agents/provision', { name: 'Ada', model }),
  )
  const answer = await ask('req-chat-1234', 'POST', '/api/chat', { agentId: agent.id, message: 'Hello' })
  expect([answer.status, answer.headers.get('x-request-id')]).toEqual([200, 'req-chat-1234'])
  expect(linesOf('req-chat-1234').map(({ msg }) => String(msg).split(':')[0])).toEqual(['[UsageLogger] Logging'])
  const reported = await until('the line of the agent', async () => {
    const history = await (await person.get(`/api/logs/${agent.id}/history`)).text()
    return history.includes('turn answered') && history
  })
  expect(reported).toContain('req-chat-1234')

  const host = `${agent.id}.agents.localhost`
  const direct = await fetch(`${server.urls.web}/healthz`, { headers: { host, 'x-request-id': 'req-direct-1' } })
  expect([direct.status, direct.headers.get('x-request-id')]).toEqual([200, 'req-direct-1'])
}, 300_000)

test('an unreachable agent logs one line per request, without a stack', async () => {
  using folder = tempFolder()
  const gate = folder.file('gate')
  await Bun.write(gate, '')
  // The agent does not listen until the gate file exists.
  const wait = 'while [ ! -e "$0" ]; do sleep 0.05; done; exec "$1" "$2" "$0"'
  await using installation = await openTestInstallation({}, ['/bin/sh', '-c', wait, gate, process.execPath, HELD_AGENT])
  const { ask, linesOf, server } = installation
  const { agent } = await read(
    ProvisionResponse,
    ask('req-provision', 'POST', '/api/agents/provision', { name: 'Ada' }),
  )
  await unlink(gate)
  process.kill((await findAgentPids(server.dataDir)).get(agent.id) ?? 0, 'SIGKILL')
  const host = `${agent.id}.agents.localhost`
  const chat = await ask('req-gone-chat', 'POST', '/api/chat', { agentId: agent.id, message: 'Hello' })
  const direct = await fetch(`${server.urls.web}/x`, { headers: { host, 'x-request-id': 'req-gone-page' } })
  expect([chat.status, direct.status].every((status) => status >= 500)).toBe(true)
  for (const id of ['req-gone-chat', 'req-gone-page']) {
    expect([id, linesOf(id)]).toEqual([id, [expect.objectContaining({ level: 40, error: expect.any(String) })]])
    expect(JSON.stringify(linesOf(id))).not.toContain('    at ')
  }
}, 300_000)

import { expect, test } from 'bun:test'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hangs } from '../../tests/harness/doubles/platform.ts'
import { OWNER_KEY, startTestAgent } from '../../tests/harness/test-agent.ts'
import { systemClock } from '../core/clock.ts'
import { StartupError } from '../core/errors.ts'
import { createLog } from '../core/log.ts'
import { serveAgent } from './server.ts'

test('GET /healthz, /readyz, /health, /startupz: 200 without a token', async () => {
  await using agent = await startTestAgent()
  const get = async (path: string) => (await fetch(`${agent.url}${path}`)).json()
  expect(await get('/healthz')).toEqual({ ok: true, status: 'live' })
  expect(await get('/readyz')).toEqual({ ready: true, failing: [], uptimeMs: expect.any(Number) })
  expect(await get('/startupz')).toEqual({ ok: true, status: 'started' })
  expect(await get('/health')).toEqual({
    status: 'ok',
    version: '9.9.9',
    agentId: 'agent_1',
    name: 'Ada',
    model: 'solo',
    uptimeMs: expect.any(Number),
    sessions: 0,
  })
})

test('GET /startupz: 200 with version and uptime only when the token is sent', async () => {
  await using agent = await startTestAgent()
  const full = { ok: true, status: 'started', version: '9.9.9', uptimeMs: expect.any(Number) }
  expect(await (await agent.call('/startupz')).json()).toEqual(full)
  const headers = { authorization: 'Bearer wrong' }
  expect(await (await agent.call('/startupz', { headers })).json()).toEqual({ ok: true, status: 'started' })
})

test('GET /readyz: 503 when the state folder is missing or its local memory is damaged, until a reset', async () => {
  await using agent = await startTestAgent({ platformToken: OWNER_KEY })
  await rename(join(agent.folder, 'sessions'), join(agent.folder, 'gone'))
  const missing = await agent.call('/readyz')
  expect(missing.status).toBe(503)
  expect(await missing.json()).toMatchObject({ ready: false, failing: ['state-folder'] })
  await rename(join(agent.folder, 'gone'), join(agent.folder, 'sessions'))

  await writeFile(join(agent.folder, 'memory.json'), '{"facts":')
  expect(await (await agent.call('/readyz')).json()).toMatchObject({ failing: ['memory'] })
  expect((await agent.chat('hi')).status).toBe(500)
  await agent.call('/memory', { method: 'DELETE' })
  expect((await agent.call('/readyz')).status).toBe(200)
  expect((await agent.chat('hi')).status).toBe(200)
})

test('GET /readyz: 200 when the platform is unreachable', async () => {
  await using agent = await startTestAgent()
  await agent.platform.stop()
  expect((await agent.call('/readyz')).status).toBe(200)
})

test('unknown paths: 404 in the OpenAI format', async () => {
  await using agent = await startTestAgent()
  const response = await agent.call('/nowhere')
  expect(response.status).toBe(404)
  expect(await response.json()).toEqual({ error: { message: 'Not found', type: 'not_found' } })
})

test.each([false, true])('stop finishes and stores a running turn, stream %p', async (stream) => {
  await using agent = await startTestAgent()
  const slow = hangs('begun')
  agent.platform.next(slow.answerer)
  const asked = agent.platform.nextAsked()
  const turn = agent.chat('one', 's', { stream })
  await asked
  const stopped = agent.stop(5000)
  slow.release()
  const response = await turn
  expect(response.status).toBe(200)
  expect(await response.text()).toContain('late')
  await stopped
  await agent.restart()
  expect((await agent.call('/sessions/s/history')).status).toBe(200)
})

test('stop interrupts a turn with 503 when it exceeds the grace period', async () => {
  await using agent = await startTestAgent()
  const slow = hangs('begun')
  agent.platform.next(slow.answerer)
  const asked = agent.platform.nextAsked()
  const turn = agent.chat('one', 's')
  await asked
  await agent.stop(50)
  expect((await turn).status).toBe(503)
  await slow.aborted
})

test('stop does not wait when a connection is idle', async () => {
  await using agent = await startTestAgent()
  const { hostname, port } = new URL(agent.url)
  const closed = Promise.withResolvers<void>()
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: { data() {}, close: () => closed.resolve() },
  })
  await fetch(`${agent.url}/healthz`)
  await agent.stop(60_000)
  socket.end()
  await closed.promise
})

test('start throws StartupError when the port is taken or the folder is unusable', async () => {
  await using agent = await startTestAgent()
  const settings = {
    host: '127.0.0.1',
    port: Number(new URL(agent.url).port),
    agentId: 'a',
    name: 'a',
    model: 'm',
    version: '1',
    folder: agent.folder,
    gatewayToken: 'x',
    platformUrl: agent.platform.url,
    platformToken: 'x',
    idleMs: 1000,
    maxTurnMs: 1000,
  }
  const deps = { clock: systemClock, fetch, log: createLog('silent') }
  await expect(serveAgent(settings, deps)).rejects.toThrow(StartupError)
  await writeFile(join(agent.folder, 'file'), '')
  await expect(serveAgent({ ...settings, port: 0, folder: join(agent.folder, 'file') }, deps)).rejects.toThrow(
    'AGENT_DIR',
  )
})

import { expect, test } from 'bun:test'
import { createAgent, signUp } from '../../../../tests/harness/client.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, read } from '../../../../tests/harness/requests.ts'
import { SERVICE_KEY, startServer } from '../../../../tests/harness/server.ts'
import type { Inspection, Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { VERSION } from '../../../core/version.ts'
import { write } from '../../../db/write.ts'
import { deploymentHistory } from '../../agents/operations/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { RuntimeInstanceStats, RuntimeInstances, RuntimeVersion } from './schemas.ts'

const OPERATOR = bearer(INTERNAL_KEY)

function inspection(id: string, startedAt: Date | null): Inspection {
  return {
    ...({
      id,
      kind: 'stead',
      host: '127.0.0.1',
      port: 20_000,
      exitCode: null,
      isOutOfMemory: false,
      restarts: 0,
    } as const),
    state: startedAt ? 'running' : 'stopped',
    image: 'stead-agent:1',
    version: '1.2.3',
    startedAt,
  }
}

/** A platform whose runtime has `ada-1`, running for two hours, the stopped `ada-2`, and an agent without a row. */
async function withInstances(change: Partial<Runtime> = {}) {
  const runtime: Runtime = {
    ...createNoRuntime('docker', 'The engine does not answer'),
    list: async () => {
      const startedAt = new Date(test.clock.now().getTime() - 2 * 3_600_000)
      return [inspection('ada-1', startedAt), inspection('ada-2', null), inspection('foreign-1', startedAt)]
    },
    ...change,
  }
  const test = testPlatform({ runtime })
  const { platform } = test
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const kind = { model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  await write(platform.db, (tx) => {
    for (const id of ['ada-1', 'ada-2'])
      insertAgent(platform, tx, { ...kind, name: `The ${id}`, id, ownerId: ada.user.id })
  })
  const get = (path: string, headers: Record<string, string> = OPERATOR) =>
    test.backend.request(`/api/runtime/${path}`, { headers })
  return { ...test, ada, eve, get, asEve: { ...OPERATOR, 'x-user-id': eve.user.id } }
}

test('GET /api/runtime/version: 200 without credentials, with the time of the last deployment or null', async () => {
  const { platform, clock, get } = await withInstances()
  const version = () => read(RuntimeVersion, get('version', {}))
  expect(await version()).toEqual({ runtimeVersion: 'unknown', image: platform.imageRules.image, deployedAt: null })
  const finishedAt = new Date(clock.now().getTime() - 5000)
  const row = { agentId: 'ada-1', requestedBy: 'operator', statusBefore: 'running', step: 'done' } as const
  const rows = [
    { ...row, kind: 'deploy', result: 'succeeded', requestedAt: finishedAt, finishedAt } as const,
    { ...row, kind: 'deploy', result: 'failed', requestedAt: finishedAt, finishedAt: clock.now() } as const,
    { ...row, kind: 'repair', result: 'succeeded', requestedAt: finishedAt, finishedAt: clock.now() } as const,
  ]
  await write(platform.db, (tx) => void tx.insert(deploymentHistory).values(rows).run())
  expect((await version()).deployedAt).toBe(finishedAt.toISOString())
})

test('GET /api/runtime/instances: 200 with instances that run and have a row, and their uptime', async () => {
  const { ada, get, asEve } = await withInstances()
  const { instances, count } = await read(RuntimeInstances, get('instances'))
  expect(count).toBe(1)
  expect(instances).toEqual([
    {
      agentId: 'ada-1',
      name: 'The ada-1',
      image: 'stead-agent:1',
      status: 'Up 2 hours',
      createdAt: expect.any(String),
      version: '1.2.3',
      metadata: { plan: 'solo', model: 'm', kind: 'stead' },
    },
  ])
  const asAda = { ...OPERATOR, 'x-user-id': ada.user.id }
  expect((await read(RuntimeInstances, get('instances', asAda))).count).toBe(1)
  expect(await read(RuntimeInstances, get('instances', asEve))).toEqual({ instances: [], count: 0 })
})

test('GET /api/runtime/instances: 500 when the engine does not respond', async () => {
  const { get } = await withInstances({ list: () => Promise.reject(new AppError('unavailable', 'No engine')) })
  const response = await get('instances')
  expect(response.status).toBe(500)
  expect(await response.json()).toEqual({ error: 'Failed to list instances' })
})

test('GET /api/runtime/instances/:id/stats: 500 when the engine does not respond, 409 when the instance does not run', async () => {
  const { get } = await withInstances()
  const failed = await get('instances/ada-1/stats')
  expect(failed.status).toBe(500)
  expect(await failed.json()).toEqual({ error: 'Failed to get container stats' })
  const stats = () => Promise.reject(new AppError('conflict', 'Agent is not running', { code: 'NOT_RUNNING' }))
  const stopped = await (await withInstances({ stats })).get('instances/ada-1/stats')
  expect(stopped.status).toBe(409)
  expect(await stopped.json()).toEqual({ error: 'Agent is not running', code: 'NOT_RUNNING' })
})

test('GET /api/runtime/instances…: 404 for a stranger and when it is missing, 401 and 403 without the key', async () => {
  const { get, asEve } = await withInstances()
  for (const response of [await get('instances/ada-1/stats', asEve), await get('instances/missing-1/stats')]) {
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: 'Agent not found' })
  }
  for (const path of ['instances', 'instances/ada-1/stats']) {
    expect((await get(path, {})).status).toBe(401)
    expect((await get(path, bearer('wrong'))).status).toBe(403)
  }
})

test('GET /api/runtime/instances: 200 with a real agent, its stats and its deployment time', async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const before = Date.now()
  const id = await createAgent(person, { name: 'Ada' })
  const get = (path: string) => fetch(`${server.urls.backend}/api/runtime/${path}`, { headers: bearer(SERVICE_KEY) })
  const version = await read(RuntimeVersion, get('version'))
  expect(version).toMatchObject({ runtimeVersion: VERSION, image: null })
  expect(Date.parse(version.deployedAt ?? '')).toBeGreaterThanOrEqual(before)
  const { instances } = await read(RuntimeInstances, get('instances'))
  expect(instances).toMatchObject([{ agentId: id, name: 'Ada', image: null, version: VERSION }])
  expect(instances[0]?.status).toStartWith('Up ')
  const stats = await read(RuntimeInstanceStats, get(`instances/${id}/stats`))
  expect(stats).toMatchObject({ agentId: id, status: 'running', network: 'N/A', blockIO: 'N/A' })
  expect(stats.memory).toMatch(/^\d+(\.\d+)?MiB \/ \d+GiB$/)
  expect(stats.cpu).toMatch(/^\d+(\.\d)?%$/)
  expect(stats.uptimeFormatted).toMatch(/^\d+s$/)
})

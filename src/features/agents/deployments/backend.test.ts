import { expect, test } from 'bun:test'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { INTERNAL_KEY, type TestOptions, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { until } from '../../../../tests/harness/until.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { enqueueRemoval } from './delete.ts'

const OPERATOR = bearer(INTERNAL_KEY)

/** A platform without a runtime: requests are validated before anything starts. */
function deployable(options: TestOptions = {}) {
  const test = testPlatform(options)
  return {
    ...test,
    deploy: (body: unknown, headers: Record<string, string> = {}) =>
      test.backend.request('/api/deployments', json('POST', body, { ...OPERATOR, ...headers })),
  }
}

test.each([
  [{}, 'agentId is required'],
  [{ agentId: '' }, 'agentId is required'],
  [{ agentId: 7 }, 'agentId is required'],
  [{ agentId: 'Ada' }, 'Invalid agentId'],
  [{ agentId: '../etc' }, 'Invalid agentId'],
  [{ agentId: '-ada' }, 'Invalid agentId'],
  [{ agentId: 'a'.repeat(42) }, 'Invalid agentId'],
  [{ agentId: 'ada', userId: 7 }, 'userId must be text'],
  [{ agentId: 'ada', name: 'x'.repeat(201) }, 'name is too long'],
  [{ agentId: 'ada', name: 'A\0da' }, 'name must not contain NUL'],
  [{ agentId: 'ada', config: { aiProvider: 'nobody' } }, 'Unsupported aiProvider'],
  [{ agentId: 'ada', config: { plan: 7 } }, 'plan must be text'],
])('POST /api/deployments: 400 when the body is %j, and nothing is written', async (body, error) => {
  const { deploy, platform } = deployable()
  const before = countRows(platform.db)
  const response = await deploy(body)
  expect(await response.json()).toEqual({ error })
  expect(response.status).toBe(400)
  expect(countRows(platform.db)).toEqual(before)
})

test('POST /api/deployments: 404 when the agent is another user’s or the owner does not exist', async () => {
  const { deploy, platform, signIn } = deployable()
  await using _jobs = startJobs(platform)
  const ada = await signIn('ada@example.com')
  const eve = await signIn('eve@example.com')
  await deploy({ agentId: 'ada-1' }, { 'x-user-id': ada.user.id })
  await until('the end of its job', () => platform.db.select().from(jobs).get()?.status === 'done')
  const before = dumpTables(platform.db)
  const foreign = await deploy({ agentId: 'ada-1' }, { 'x-user-id': eve.user.id })
  expect(foreign.status).toBe(404)
  expect(await foreign.json()).toEqual({ error: 'Agent not found' })
  const homeless = await deploy({ agentId: 'new-1', userId: 'usr_nobody' })
  expect(homeless.status).toBe(404)
  expect(await homeless.json()).toEqual({ error: 'User not found' })
  expect(dumpTables(platform.db)).toBe(before)
})

test('POST /api/deployments: 500 with the reason when the runtime cannot start the agent', async () => {
  const { deploy, platform } = deployable()
  await using _jobs = startJobs(platform)
  const response = await deploy({ agentId: 'ada-1' })
  expect(response.status).toBe(500)
  expect(await response.json()).toEqual({ error: 'This test has no runtime' })
})

test('POST /api/deployments: 409 when a deleted agent with this id is still being removed', async () => {
  const runtime = { ...createNoRuntime('process', 'Not in this test'), remove: async () => {} }
  const { deploy, platform } = deployable({ runtime })
  await write(platform.db, (tx) => enqueueRemoval(platform, tx, { id: 'ada-1', runtime: null }))
  const response = await deploy({ agentId: 'ada-1' })
  expect(response.status).toBe(409)
  expect(await response.json()).toEqual({ error: 'A deleted agent of this id is still being removed' })
  expect(countRows(platform.db).agents).toBe(0)

  await using _jobs = startJobs(platform)
  await until('the removal', async () => platform.db.select().from(jobs).get()?.status === 'done')
  expect((await deploy({ agentId: 'ada-1' })).status).toBe(500)
})

test('POST /api/deployments: 503 when provisioning is switched off', async () => {
  const { deploy, platform } = deployable({ environment: { KILL_SWITCH: 'true' } })
  const response = await deploy({ agentId: 'ada-1' })
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ error: 'Provisioning is temporarily disabled. Contact support.' })
  expect(countRows(platform.db).agents).toBe(0)
})

test('POST /api/deployments: 429 when one address exceeds its rate', async () => {
  const { deploy } = deployable({ environment: { RATE_LIMIT_DEPLOYMENTS: '1' } })
  await deploy({})
  const response = await deploy({ agentId: 'ada-1' })
  expect(response.status).toBe(429)
  expect(await response.json()).toEqual({ error: 'Deployment rate limit exceeded.' })
})

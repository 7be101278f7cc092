import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json } from '../../../../tests/harness/requests.ts'
import type { AgentState, Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { enqueueDeployment, findDeployment } from '../deployments/request.ts'
import { insertAgent } from '../registry/agents.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { reconcileAgents } from './reconcile.ts'

/** Simulates a runtime with one agent in `state`, which records its calls. */
function runtimeWith(state: AgentState | null): { runtime: Runtime; asked: string[] } {
  const asked: string[] = []
  const seen = {
    kind: 'stead',
    host: '127.0.0.1',
    port: 20_000,
    image: null,
    version: null,
    startedAt: null,
    exitCode: null,
    isOutOfMemory: false,
    restarts: 0,
  } as const
  return {
    asked,
    runtime: {
      ...createNoRuntime('process', 'not in this test'),
      inspect: async (id) => (state ? { id, state, ...seen } : null),
      deploy: async () => void asked.push('deploy'),
      renew: async () => void asked.push('renew'),
      stop: async () => void asked.push('stop'),
      remove: async () => void asked.push('remove'),
    },
  }
}

/** Returns the status of an agent in `status` after another reconciliation. */
async function reconciled(runtime: Runtime, agent: Partial<AgentRow>): Promise<string | undefined> {
  const { platform, clock } = testPlatform({ runtime })
  const row = { ownerId: null, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter', port: 20_000 }
  const { id } = await write(platform.db, (tx) =>
    insertAgent({ clock, sealer: platform.sealer }, tx, { ...row, status: 'running', ...agent }),
  )
  await reconcileAgents(platform)
  return platform.db.select().from(agents).where(eq(agents.id, id)).get()?.status
}

test.each([
  ['running', ['deploy'], 'running'],
  ['stopped', ['deploy'], 'running'],
  [null, ['deploy'], 'running'],
  ['restarting', ['renew'], 'running'],
  ['exited', [], 'error'],
] as const)(
  'reconcileAgents, when an agent should run and is %p, makes the runtime do %j and sets %s',
  async (state, calls, status) => {
    const { runtime, asked } = runtimeWith(state)
    expect(await reconciled(runtime, {})).toBe(status)
    expect(asked).toEqual([...calls])
  },
)

test.each(['pending', 'provisioning', 'stopped', 'error'] as const)(
  'reconcileAgents changes nothing when an agent is %s',
  async (status) => {
    const { runtime, asked } = runtimeWith(null)
    expect(await reconciled(runtime, { status })).toBe(status)
    expect(asked).toEqual([])
  },
)

test.each([
  ['running', ['stop']],
  ['restarting', ['stop']],
  ['exited', ['stop']],
  ['stopped', []],
] as const)(
  'reconcileAgents, when a crash interrupted a stop and the agent is %p, makes the runtime do %j',
  async (state, calls) => {
    const { runtime, asked } = runtimeWith(state)
    expect(await reconciled(runtime, { status: 'stopped' })).toBe('stopped')
    expect(asked).toEqual([...calls])
  },
)

test('reconcileAgents requests a deployment once, after a minute, when it was lost', async () => {
  const { platform, clock } = testPlatform({ runtime: runtimeWith(null).runtime })
  const row = { ownerId: null, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
  const add = (status: AgentRow['status']) =>
    write(platform.db, (tx) => insertAgent({ clock, sealer: platform.sealer }, tx, { ...row, status }))
  const { id } = await add('provisioning')
  const asked = await add('provisioning')
  await write(platform.db, (tx) => enqueueDeployment(platform, tx, asked.id))
  await add('error')
  const keys = () => platform.db.select({ key: jobs.key }).from(jobs).all()

  clock.advance(59_000)
  await reconcileAgents(platform)
  expect(keys()).toEqual([{ key: `deploy:${asked.id}` }])
  clock.advance(1000)
  await reconcileAgents(platform)
  clock.advance(3_600_000)
  await reconcileAgents(platform)
  expect(keys()).toEqual([{ key: `deploy:${asked.id}` }, { key: `deploy:${id}` }])
  expect(findDeployment(platform.db, id)).toMatchObject({ step: 'queued' })
})

test.each(['restart', 'repair', 'reset-memory', 'update'])(
  'POST /api/agents/:id/%s: 500 without stopping an agent that could not connect to the platform',
  async (verb) => {
    const { runtime, asked } = runtimeWith('running')
    const reason = 'Agents cannot run: nothing leads to the platform'
    const urlForAgents = () => Promise.reject(new AppError('unavailable', reason))
    const { platform, web, signIn } = testPlatform({ runtime, urlForAgents })
    const { user, cookie } = await signIn()
    const row = { id: 'ada-1', ownerId: user.id, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
    await write(platform.db, (tx) => {
      insertAgent(platform, tx, { ...row, status: 'running' })
      tx.update(agents).set({ port: 20_000 }).where(eq(agents.id, row.id)).run()
    })
    await using _jobs = startJobs(platform)
    const response = await web.request(`/api/agents/ada-1/${verb}`, json('POST', {}, cookie))
    expect({ status: response.status, body: await response.json() }).toEqual({ status: 500, body: { error: reason } })
    expect(asked).toEqual([])
    const agent = platform.db.select().from(agents).get()
    expect(agent).toMatchObject({ status: 'running', lastError: null })
  },
)

test('reconcileAgents changes no status when the engine does not respond', async () => {
  expect(await reconciled(createNoRuntime('docker', 'The engine does not answer'), {})).toBe('running')
})

import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startRegistry } from '../../../../tests/harness/doubles/registry.ts'
import { findEngine, removeAll } from '../../../../tests/harness/engines/engine.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'
import { imageNotFound, type Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { createDockerRuntime } from '../../../adapters/runtimes/docker/docker.ts'
import { systemClock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import { createLog } from '../../../core/log.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/agents.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { deploymentHistory } from './tables.ts'

const ADMIN = 'root@example.com'
const STRANGE = 'registry.evil.example:5000/agent:1'
const OTHERS = 'ghcr.io/acme/agent'
let lastPort = 20_000

/** Simulates an engine that has `here` and records pulls from a registry without images. */
function engineWith(here: readonly string[]) {
  const fetched: string[] = []
  const asked: string[] = []
  const runtime: Runtime = {
    ...createNoRuntime('docker', 'not in this test'),
    isAvailable: async () => true,
    inspect: async () => null,
    stop: async (id) => void asked.push(`stop ${id}`),
    async findImage(image) {
      if (image.includes('no-agent')) throw new AppError('invalid', 'This image is no agent')
      return here.includes(image) ? { kind: 'stead', version: '1' } : null
    },
    async pull(image) {
      if (here.includes(image)) return
      fetched.push(image)
      throw imageNotFound(image)
    },
  }
  return { runtime, fetched, asked }
}

function openInstallation(runtime: Runtime, environment: Record<string, string> = {}) {
  const installation = testPlatform({
    runtime,
    environment: { ADMIN_EMAILS: ADMIN, AGENT_IMAGE: 'acme/agent:1', ...environment },
  })
  return { ...installation, jobs: startJobs(installation.platform) }
}

async function addAgent(
  { platform }: ReturnType<typeof openInstallation>,
  ownerId: string,
  image: string | null = null,
) {
  const row = { ownerId, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  return write(platform.db, (tx) => {
    const agent = insertAgent(platform, tx, row)
    lastPort += 1
    tx.update(agents).set({ port: lastPort, image }).where(eq(agents.id, agent.id)).run()
    return agent
  })
}

/** Both ways to update as an owner. */
async function askBoth(
  installation: ReturnType<typeof openInstallation>,
  agent: AgentRow,
  who: Awaited<ReturnType<ReturnType<typeof openInstallation>['signIn']>>,
  image: string,
) {
  const path = `/api/agents/${agent.id}/update`
  const service = { ...bearer(INTERNAL_KEY), 'x-user-id': who.user.id, 'x-user-role': 'admin', 'x-user-email': ADMIN }
  const responses = [
    await installation.web.request(path, json('POST', { image }, who.cookie)),
    await installation.backend.request(path, json('POST', { image }, service)),
  ]
  return Promise.all(responses.map(async (response) => ({ status: response.status, body: await response.json() })))
}

const NOT_ALLOWED = {
  status: 400,
  body: { error: expect.stringContaining('not among those that can be chosen'), code: 'IMAGE_NOT_ALLOWED' },
}

test.each([
  STRANGE,
  'agent',
  'localhost:1/acme/agent:1',
  'acme/agents:1',
  'evil/stead-agent',
  `acme/x@sha256:${'a'.repeat(64)}`,
])('POST /api/agents/:id/update: 400 when an owner names %p, without a pull', async (image) => {
  const { runtime, fetched, asked } = engineWith([])
  const installation = openInstallation(runtime)
  await using _jobs = installation.jobs
  const owner = await installation.signIn()
  const agent = await addAgent(installation, owner.user.id)
  for (const answer of await askBoth(installation, agent, owner, image)) expect(answer).toEqual(NOT_ALLOWED)
  expect({ fetched, asked }).toEqual({ fetched: [], asked: [] })
  expect(installation.platform.db.select().from(deploymentHistory).all()).toEqual([])
  expect(installation.platform.db.select().from(agents).get()?.status).toBe('running')
})

test('POST /api/agents/:id/update: 200 when the image is a version of an allowed one, 400 when it is missing', async () => {
  const { runtime, fetched, asked } = engineWith([])
  const installation = openInstallation(runtime, { AGENT_IMAGES: `${OTHERS}, registry:5000/agent` })
  await using _jobs = installation.jobs
  const owner = await installation.signIn()
  const agent = await addAgent(installation, owner.user.id)
  const allowed = ['acme/agent:2', `${OTHERS}:7`, `registry:5000/agent@sha256:${'b'.repeat(64)}`]
  for (const image of allowed) {
    const answer = { status: 400, body: { error: `Image ${image} was not found` } }
    expect(await askBoth(installation, agent, owner, image)).toEqual([answer, answer])
  }
  expect([...new Set(fetched)]).toEqual(allowed)
  expect(asked).toEqual([])
  expect(installation.platform.db.select().from(agents).get()?.status).toBe('running')
  const results = installation.platform.db.select().from(deploymentHistory).all()
  expect(results.map(({ result }) => result)).toEqual(results.map(() => 'refused'))
})

test('POST /api/agents/:id/update: 200 when a local image has the label, unless AGENT_IMAGES is set', async () => {
  const labelled = 'somebody/agent:1'
  for (const [environment, isAllowed] of [
    [{}, true],
    [{ AGENT_IMAGES: OTHERS }, false],
  ] as const) {
    const { runtime, fetched } = engineWith([labelled])
    const installation = openInstallation(runtime, environment)
    await using _jobs = installation.jobs
    const owner = await installation.signIn()
    const agent = await addAgent(installation, owner.user.id)
    const [answer] = await askBoth(installation, agent, owner, labelled)
    if (isAllowed) expect(answer).not.toEqual(NOT_ALLOWED)
    else expect(answer).toEqual(NOT_ALLOWED)
    expect(fetched).toEqual([])
  }
})

test('POST /api/agents/:id/update: 400 when the image is no agent, also for an administrator', async () => {
  const { runtime, asked } = engineWith([])
  const installation = openInstallation(runtime)
  await using _jobs = installation.jobs
  const admin = await installation.signIn(ADMIN)
  const agent = await addAgent(installation, admin.user.id)
  for (const answer of await askBoth(installation, agent, admin, 'acme/no-agent:1'))
    expect(answer).toEqual({ status: 400, body: { error: 'This image is no agent' } })
  expect(asked).toEqual([])
})

test('POST /api/agents/:id/update: 200 when an administrator or the operator names any image', async () => {
  const { runtime, fetched } = engineWith([])
  const installation = openInstallation(runtime, { AGENT_IMAGES: OTHERS })
  await using _jobs = installation.jobs
  const admin = await installation.signIn(ADMIN)
  const owner = await installation.signIn()
  const agent = await addAgent(installation, owner.user.id)
  const own = await addAgent(installation, admin.user.id)
  await askBoth(installation, own, admin, STRANGE)
  const path = `/api/agents/${agent.id}/update`
  await installation.backend.request(path, json('POST', { image: `${STRANGE}2` }, bearer(INTERNAL_KEY)))
  expect(fetched).toEqual([STRANGE, STRANGE, `${STRANGE}2`])
})

test('pullOperationImage throws when an image is no longer allowed', async () => {
  const { runtime, fetched } = engineWith([])
  const installation = openInstallation(runtime)
  const owner = await installation.signIn()
  const agent = await addAgent(installation, owner.user.id, STRANGE)
  const { db } = installation.platform
  await write(db, (tx) => {
    const asked = { agentId: agent.id, kind: 'update', requestedBy: owner.user.id, image: STRANGE } as const
    const now = installation.clock.now()
    tx.insert(deploymentHistory)
      .values({ ...asked, statusBefore: 'running', step: 'queued', requestedAt: now })
      .run()
  })
  await using _jobs = installation.jobs
  const started = installation.web.request(`/api/agents/${agent.id}/restart`, json('POST', {}, owner.cookie))
  expect((await started).status).toBe(500)
  expect(fetched).toEqual([])
  const done = db.select().from(deploymentHistory).all()
  expect(done.map(({ kind, result }) => `${kind} ${result}`)).toEqual(['update replaced', 'restart failed'])
})

const found = await findEngine()

describe.skipIf(!found)('with a real engine', () => {
  if (!found) return
  const { engine, docker } = found

  test('an update connects to the address in the name of an image for an administrator, not for an owner', async () => {
    const instance = randomText(12).toLowerCase()
    const log = createLog('silent')
    const runtime = createDockerRuntime({ engine, instance, digestKey: 'key', clock: systemClock, log })
    using registry = await startRegistry()
    const image = `${registry.host}/agent:1`
    const installation = openInstallation(runtime)
    await using _jobs = installation.jobs
    const [owner, admin] = [await installation.signIn(), await installation.signIn(ADMIN)]
    const agent = await addAgent(installation, owner.user.id)
    for (const answer of await askBoth(installation, agent, owner, image)) expect(answer).toEqual(NOT_ALLOWED)
    expect(registry.requests).toEqual([])
    const own = await addAgent(installation, admin.user.id)
    const missing = { status: 400, body: { error: `Image ${image} was not found` } }
    expect(await askBoth(installation, own, admin, image)).toEqual([missing, missing])
    expect(registry.requests).not.toEqual([])
    await runtime.close()
    await removeAll(docker, instance)
  })
})

import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { until } from '../../../../tests/harness/until.ts'
import { agentNotFound, engineUnavailable, type Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { insertAgent } from '../registry/agents.ts'
import { agents } from '../registry/tables.ts'

/** Creates Ada's agent in an engine that can fail inspections or removals. */
async function withAgent() {
  const engine = { answers: true, removes: true, has: new Set(['ada-1']) }
  const ask = () => {
    if (!engine.answers) throw engineUnavailable()
  }
  const runtime: Runtime = {
    ...createNoRuntime('docker', 'Not in this test'),
    isAvailable: async () => engine.answers,
    async inspect() {
      ask()
      return null
    },
    async stop() {
      ask()
      throw agentNotFound()
    },
    async remove(id) {
      ask()
      if (!engine.removes) throw engineUnavailable()
      engine.has.delete(id)
    },
  }
  const installation = testPlatform({ runtime })
  const { user, cookie } = await installation.signIn()
  const row = { id: 'ada-1', ownerId: user.id, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
  await write(installation.platform.db, (tx) => {
    insertAgent(installation.platform, tx, { ...row, status: 'running' })
    tx.update(agents).set({ port: 20_000, runtime: 'docker' }).where(eq(agents.id, row.id)).run()
  })
  return {
    ...installation,
    engine,
    cookie,
    remove: () => installation.web.request('/api/agents/ada-1', { method: 'DELETE', headers: cookie }),
    statusOfRow: () => installation.platform.db.select().from(agents).get()?.status,
  }
}

test('DELETE /api/agents/:id: 500 with the reason when the engine is unreachable, and nothing changes', async () => {
  const { engine, platform, remove } = await withAgent()
  engine.answers = false
  const before = dumpTables(platform.db)
  const response = await remove()
  expect(response.status).toBe(500)
  expect(await response.json()).toEqual({
    error: 'The container engine does not answer: the agent was not deleted',
    code: 'ENGINE_UNAVAILABLE',
  })
  expect(dumpTables(platform.db)).toBe(before)
  engine.answers = true
  expect(await (await remove()).json()).toEqual({ id: 'ada-1', deleted: true })
  expect(engine.has.size).toBe(0)
})

test('DELETE /api/agents/:id: 500 when the engine fails; the agent stays stopped and is deleted later', async () => {
  const { engine, platform, clock, web, cookie, remove, statusOfRow } = await withAgent()
  engine.removes = false
  const response = await remove()
  expect(response.status).toBe(500)
  expect(await response.json()).toMatchObject({
    error: 'The container engine does not answer: the agent is deleted as soon as that is possible',
  })
  expect(statusOfRow()).toBe('stopped')
  const start = await web.request('/api/agents/ada-1/start', json('POST', {}, cookie))
  expect({ status: start.status, body: await start.json() }).toEqual({
    status: 409,
    body: { error: 'The agent is being deleted' },
  })

  await using _jobs = startJobs(platform)
  for (let attempt = 1; attempt <= 12; attempt++) {
    await until('another attempt', () => {
      clock.advance(60_000)
      return (platform.db.select().from(jobs).get()?.attempts ?? 0) >= attempt
    })
  }
  expect(statusOfRow()).toBe('stopped')
  engine.removes = true
  await until('the deletion', () => {
    clock.advance(300_000)
    return statusOfRow() === undefined
  })
  expect(engine.has.size).toBe(0)
  await until('the end of the job', () => platform.db.select().from(jobs).get()?.status === 'done')
})

test('DELETE /api/agents/:id: 200 when the agent was never deployed and the engine is unreachable', async () => {
  const { engine, platform, remove } = await withAgent()
  await write(platform.db, (tx) => tx.update(agents).set({ port: null, runtime: null }).run())
  engine.answers = false
  expect(await (await remove()).json()).toEqual({ id: 'ada-1', deleted: true })
  expect(platform.db.select().from(agents).all()).toEqual([])
})

import { expect, test } from 'bun:test'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer } from '../../../../tests/harness/requests.ts'
import type { AgentState, Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/agents.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { keepStatesJob } from './jobs.ts'
import { createKeptStates, keepRestoredStates, removeKeptStates } from './kept-states.ts'

const MINUTE_MS = 60_000

/** A platform with an agent on a swarm whose files are `engine.content`. */
async function openSwarm() {
  const engine = { content: 'first', isBroken: false, copies: 0, state: 'running' as AgentState }
  const runtime: Runtime = {
    ...createNoRuntime('swarm', 'not in this test'),
    inspect: async (id) => ({
      ...{
        id,
        kind: 'stead',
        state: engine.state,
        host: '10.0.0.1',
        port: 19_000,
        image: 'stead-agent:1',
        version: '1',
      },
      ...{ startedAt: null, exitCode: null, isOutOfMemory: false, restarts: 0 },
    }),
    async copyState(_id, file) {
      if (engine.isBroken) throw new AppError('unavailable', 'The machine with the files of the agent is away')
      engine.copies++
      writeFileSync(file, engine.content)
    },
    restore: async () => {},
    remove: async () => {},
  }
  const installation = testPlatform({ runtime, environment: { AGENT_SNAPSHOT_MINUTES: '15' } })
  const { platform, config, clock } = installation
  const row = { id: 'ada-1', ownerId: null, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
  await write(platform.db, (tx) => insertAgent(platform, tx, { ...row, status: 'running' }))
  const change = (values: Partial<AgentRow>) =>
    write(platform.db, (tx) => tx.update(agents).set(values).where(eq(agents.id, 'ada-1')).run())
  await change({ runtime: 'swarm', port: 19_000, startedAt: clock.now() })
  const folder = join(config.dataDir, 'states/ada-1')
  return {
    ...{ ...installation, engine, runtime, change },
    /** Stops the agent, or starts it. */
    async set(status: 'running' | 'stopped' | 'sleeping') {
      engine.state = status === 'running' ? 'running' : 'stopped'
      await change({ status, ...(status === 'running' && { startedAt: clock.now() }) })
    },
    run: () => keepStatesJob(platform).run(new AbortController().signal),
    files: () => (existsSync(folder) ? readdirSync(folder) : []),
    async kept() {
      const found: string[] = []
      await createKeptStates(platform.objects).use('ada-1', async (file) => {
        found.push(await Bun.file(file).text())
      })
      return found[0] ?? null
    },
  }
}

test('keepStatesJob copies a running agent at once and then at the interval, and keeps one copy', async () => {
  const { engine, clock, run, kept, files } = await openSwarm()
  expect(await kept()).toBeNull()
  await run()
  expect(await kept()).toBe('first')
  engine.content = 'second'
  clock.advance(14 * MINUTE_MS)
  await run()
  expect(await kept()).toBe('first')
  clock.advance(MINUTE_MS)
  await run()
  expect([await kept(), files().length, engine.copies]).toEqual(['second', 1, 2])
})

test('keepStatesJob copies a stopped or sleeping agent once after each stop', async () => {
  const { engine, clock, run, kept, set } = await openSwarm()
  await run()
  for (const [content, status] of [
    ['at the stop', 'stopped'],
    ['asleep', 'sleeping'],
  ] as const) {
    clock.advance(1000)
    await set('running')
    engine.content = content
    clock.advance(1000)
    await set(status)
    await run()
    expect(await kept()).toBe(content)
    const { copies } = engine
    clock.advance(60 * MINUTE_MS)
    await run()
    expect(engine.copies).toBe(copies)
  }
})

test('keepStatesJob keeps the previous copy and logs the reason when files cannot be read or stored', async () => {
  const { engine, clock, run, kept, files, platform, logLines } = await openSwarm()
  await run()
  clock.advance(15 * MINUTE_MS)
  engine.isBroken = true
  await run()
  expect([await kept(), files().length]).toEqual(['first', 1])
  expect(logLines.join('')).toContain('The machine with the files of the agent is away')
  engine.isBroken = false
  engine.content = 'second'
  const full: typeof platform.objects = {
    ...platform.objects,
    put: async () => {
      throw new AppError('unavailable', 's3://bucket: QuotaExceeded')
    },
  }
  await keepStatesJob({ ...platform, objects: full }).run(new AbortController().signal)
  expect(await kept()).toBe('first')
  expect(logLines.join('')).toContain('QuotaExceeded')
  await run()
  expect(await kept()).toBe('second')
})

test('keepRestoredStates makes restored files the newest copy, and removeKeptStates makes the job copy again', async () => {
  const { platform, engine, runtime, run, kept, config, clock } = await openSwarm()
  await run()
  clock.advance(1000)
  const file = join(config.dataDir, 'restored.tar.gz')
  writeFileSync(file, 'restored')
  await keepRestoredStates(runtime, platform).restore('ada-1', file)
  expect(await kept()).toBe('restored')
  engine.content = 'without memory'
  await removeKeptStates(platform, 'ada-1')
  expect(await kept()).toBeNull()
  await run()
  expect(await kept()).toBe('without memory')
})

test('DELETE /api/agents/:id: 200 and no copy is left', async () => {
  const { backend, run, files } = await openSwarm()
  await run()
  expect(files()).toHaveLength(1)
  const response = await backend.request('/api/agents/ada-1', { method: 'DELETE', headers: bearer(INTERNAL_KEY) })
  expect([response.status, files()]).toEqual([200, []])
})

test('keepStatesJob leaves no copy when an agent is deleted in the meantime', async () => {
  const { platform, runtime, files } = await openSwarm()
  const deleting: Runtime = {
    ...runtime,
    async copyState(_id, file) {
      writeFileSync(file, 'late')
      await write(platform.db, (tx) => tx.delete(agents).run())
    },
  }
  const runtimes = { ...platform.runtimes, runtimeOf: () => deleting }
  await keepStatesJob({ ...platform, runtimes }).run(new AbortController().signal)
  expect(files()).toEqual([])
})

import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import type { AgentState, Inspection, Runtime, RuntimeEvent } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/agents.ts'
import { agents } from '../registry/tables.ts'
import { createReconciler, reconcileOnEvents } from './reconcile.ts'

type Seen = { state: AgentState; host?: string }
type TestPlatform = ReturnType<typeof testPlatform>

/** Simulates an engine with the agents of `seen`, which records its calls. */
function engineWith(seen: Map<string, Seen>, events: RuntimeEvent[] = []) {
  const asked: string[] = []
  const inspect = (id: string): Inspection | null => {
    const agent = seen.get(id)
    const unknown = { image: null, version: null, startedAt: null, exitCode: null, isOutOfMemory: false, restarts: 0 }
    return agent ? { ...unknown, id, kind: 'stead', host: '127.0.0.1', port: 20_000, ...agent } : null
  }
  const runtime: Runtime = {
    ...createNoRuntime('docker', 'not in this test'),
    isAvailable: async () => true,
    inspect: async (id) => inspect(id),
    list: async () => [...seen.keys()].map(inspect).filter((found) => found !== null),
    deploy: async ({ id }) => void asked.push(`deploy ${id}`),
    stop: async (id) => void asked.push(`stop ${id}`),
    remove: async (id) => {
      asked.push(`remove ${id}`)
      seen.delete(id)
    },
    snapshot: async (id, file) => {
      asked.push(`snapshot ${id}`)
      await Bun.write(file, 'all that it had stored')
    },
    async *watch() {
      yield* events
    },
  }
  return { runtime, asked }
}

async function addAgent({ platform, clock }: TestPlatform, id: string): Promise<void> {
  const row = { id, ownerId: null, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
  await write(platform.db, (tx) => {
    insertAgent({ clock, sealer: platform.sealer }, tx, { ...row, status: 'running' })
    tx.update(agents).set({ port: 20_000 }).where(eq(agents.id, id)).run()
  })
}

test.each(['stopped', 'exited', null] as const)(
  'createReconciler leaves an agent, when it is %p, to the watchdog for a minute',
  async (state) => {
    const { runtime, asked } = engineWith(new Map(state ? [['ada', { state }]] : []))
    const world = testPlatform({ runtime })
    await addAgent(world, 'ada')
    const reconcile = createReconciler(world.platform)
    await reconcile()
    world.clock.advance(59_000)
    await reconcile()
    expect(asked).toEqual([])
    expect(world.platform.db.select().from(agents).get()?.status).toBe('running')
    world.clock.advance(1000)
    await reconcile()
    expect(asked).toEqual(state === 'exited' ? [] : ['deploy ada'])
    expect(world.platform.db.select().from(agents).get()?.status).toBe(state === 'exited' ? 'error' : 'running')
  },
)

test('createReconciler removes an orphan after ten minutes and keeps a snapshot', async () => {
  const seen = new Map<string, Seen>([
    ['ada', { state: 'running' }],
    ['ghost', { state: 'running' }],
  ])
  const { runtime, asked } = engineWith(seen)
  const world = testPlatform({ runtime })
  await addAgent(world, 'ada')
  const reconcile = createReconciler(world.platform)
  await reconcile()
  world.clock.advance(599_000)
  await reconcile()
  expect(asked).not.toContain('remove ghost')
  world.clock.advance(1000)
  await reconcile()
  expect(asked.filter((call) => call.endsWith('ghost'))).toEqual(['stop ghost', 'snapshot ghost', 'remove ghost'])
  expect(existsSync(join(world.config.dataDir, 'backups/orphans/ghost.tar.gz'))).toBe(true)
})

test('createReconciler removes an orphan whose agent runs in another runtime', async () => {
  const { runtime, asked } = engineWith(new Map([['ada', { state: 'running' }]]))
  const world = testPlatform({ runtime })
  await addAgent(world, 'ada')
  await write(world.platform.db, (tx) => tx.update(agents).set({ runtime: 'process', status: 'error' }).run())
  const reconcile = createReconciler(world.platform)
  await reconcile()
  world.clock.advance(600_000)
  await reconcile()
  expect(asked).toEqual(['stop ada', 'snapshot ada', 'remove ada'])
  expect(world.platform.db.select().from(agents).all()).toHaveLength(1)
})

test('reconcileOnEvents ignores events of another runtime', async () => {
  const events: RuntimeEvent[] = [{ id: 'ada', type: 'changed', at: new Date(0) }]
  const { runtime, asked } = engineWith(new Map([['ada', { state: 'running' }]]), events)
  const world = testPlatform({ runtime })
  await addAgent(world, 'ada')
  await write(world.platform.db, (tx) => tx.update(agents).set({ runtime: 'process' }).run())
  await reconcileOnEvents(world.platform, new AbortController().signal)
  expect(asked).toEqual([])
})

test('createReconciler removes nothing when the database has no agents', async () => {
  const { runtime, asked } = engineWith(new Map([['ada', { state: 'running' }]]))
  const world = testPlatform({ runtime })
  const reconcile = createReconciler(world.platform)
  await reconcile()
  world.clock.advance(3_600_000)
  await reconcile()
  expect(asked).toEqual([])
})

test('reconcileOnEvents updates the host and restarts no dead agent', async () => {
  const events = ['ada', 'bo', 'ghost'].map((id): RuntimeEvent => ({ id, type: 'changed', at: new Date(0) }))
  const seen = new Map<string, Seen>([
    ['ada', { state: 'running', host: '10.0.0.7' }],
    ['bo', { state: 'stopped' }],
    ['ghost', { state: 'running' }],
  ])
  const { runtime, asked } = engineWith(seen, events)
  const world = testPlatform({ runtime })
  await addAgent(world, 'ada')
  await write(world.platform.db, (tx) => {
    const row = { id: 'bo', ownerId: null, name: 'Bo', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
    insertAgent({ clock: world.clock, sealer: world.platform.sealer }, tx, { ...row, status: 'running' })
    tx.update(agents).set({ port: 20_001 }).where(eq(agents.id, 'bo')).run()
  })
  await reconcileOnEvents(world.platform, new AbortController().signal)
  const host = world.platform.db.select({ host: agents.host }).from(agents).where(eq(agents.id, 'ada')).get()?.host
  expect(host).toBe('10.0.0.7')
  expect(asked).toEqual(['deploy ada'])
})

test('createReconciler skips a locked agent', async () => {
  const { runtime, asked } = engineWith(new Map())
  const world = testPlatform({ runtime })
  await addAgent(world, 'ada')
  const done = Promise.withResolvers<void>()
  const working = world.platform.agentLocks.run('ada', () => done.promise)
  const reconcile = createReconciler(world.platform)
  await reconcile()
  world.clock.advance(3_600_000)
  await reconcile()
  expect(asked).toEqual([])
  done.resolve()
  await working
  expect(world.platform.agentLocks.isLocked('ada')).toBe(false)
})

import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { write } from '../../../src/db/write.ts'
import { agents } from '../../../src/features/agents/registry/tables.ts'
import { hostFaults } from '../../../src/features/agents/watchdog/tables.ts'
import { jobs } from '../../../src/jobs/tables.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'
import { until } from '../../harness/until.ts'
import { type FakeAgent, type Health, openWatch } from './watch-world.ts'

type Watch = Awaited<ReturnType<typeof openWatch>>

const kinds = (watch: Watch) => watch.notices.map(({ kind }) => kind)
const untilAll = (watch: Watch, state: string) =>
  until(`all in ${state}`, () => watch.states().every((one) => one === state))

/** Returns the only agent of a watch. */
function only({ fakes }: Watch): FakeAgent {
  const [fake] = fakes
  if (!fake) throw new Error('There is no agent')
  return fake
}

/** Waits for `count` more checks of the agent. */
function looksMore(watch: Watch, count: number): Promise<unknown> {
  const before = watch.looks
  return until(`${count} looks`, () => watch.looks >= before + count)
}

test('50 simultaneous failures are attributed to the host: one notification, and no repair until most recover', async () => {
  await using watch = await openWatch({ agents: 50, settings: { checkMs: 500, degradedCheckMs: 200 } })
  await untilAll(watch, 'running')
  for (const fake of watch.fakes) fake.health = 'refusing'
  await until('the notification of the host fault', () => kinds(watch).includes('host_fault'))
  await untilAll(watch, 'degraded')
  await looksMore(watch, 300)
  expect(watch.repairs.length).toBeLessThanOrEqual(2)
  expect(kinds(watch).filter((kind) => kind === 'host_fault')).toHaveLength(1)
  expect(kinds(watch).filter((kind) => kind === 'degraded')).toHaveLength(50)

  for (const fake of watch.fakes.slice(0, 30)) fake.health = 'live'
  await untilAll(watch, 'running')
  expect(watch.repairs.length).toBeLessThanOrEqual(20)
  expect(watch.mostAtOnce).toBeLessThanOrEqual(2)
  const faults = watch.platform.db.select().from(hostFaults).all()
  expect(faults).toMatchObject([{ watched: 50, endedAt: expect.any(Date) }])
}, 300_000)

test('at most two of several failed agents are repaired at once, and all in the end', async () => {
  await using watch = await openWatch({ agents: 10 })
  await untilAll(watch, 'running')
  const failing = watch.fakes.slice(0, 5)
  for (const fake of failing) fake.health = 'refusing'
  await until('five repairs', () => kinds(watch).filter((kind) => kind === 'repaired').length === 5)
  expect(watch.mostAtOnce).toBeLessThanOrEqual(2)
  expect([...watch.repairs].sort()).toEqual(failing.map(({ id }) => id).sort())
})

test('an agent that takes four minutes to start is not repaired', async () => {
  // A minute of the watchdog's clock is 300 ms; it checks every 20 ms.
  const settings = { checkMs: 120_000, degradedCheckMs: 40 }
  const standsStillAtMs = 4 * 60_000
  await using slow = await openWatch({ agents: 1, settings, speed: 200, standsStillAtMs })
  const fake = only(slow)
  fake.health = 'refusing'
  await until('four minutes of the watchdog’s clock', () => slow.watchMs() === standsStillAtMs)
  expect(slow.show(fake.id).state).toBe('starting')
  fake.health = 'live'
  slow.goOn()
  await untilAll(slow, 'running')
  expect(slow.repairs).toEqual([])
  expect(kinds(slow)).toEqual([])
})

test.each<Health>(['silent', 'half', 'endless', 'garbage', 'refusing'])(
  'a single failed %s probe causes no repair, a second one does',
  async (health) => {
    await using watch = await openWatch({ agents: 1, probeMs: 1000 })
    const fake = only(watch)
    await untilAll(watch, 'running')
    fake.health = health
    await untilAll(watch, 'degraded')
    fake.health = 'live'
    await until('its recovery', () => kinds(watch).includes('recovered'))
    expect(watch.repairs).toEqual([])

    fake.health = health
    await until('its repair', () => kinds(watch).includes('repaired'))
    await untilAll(watch, 'running')
    expect(kinds(watch)).toEqual(['degraded', 'recovered', 'degraded', 'repair_started', 'repaired'])
  },
)

test('an unreachable engine creates no event', async () => {
  await using watch = await openWatch({ agents: 3 })
  await untilAll(watch, 'running')
  const before = watch.fakes.map(({ id }) => watch.show(id).events.length)
  watch.loseEngine(true)
  for (const fake of watch.fakes) fake.health = 'refusing'
  await looksMore(watch, 12)
  expect(watch.states()).toEqual(['running', 'running', 'running'])
  for (const fake of watch.fakes) fake.health = 'live'
  watch.loseEngine(false)
  await looksMore(watch, 6)
  expect(watch.fakes.map(({ id }) => watch.show(id).events.length)).toEqual(before)
  expect(watch.notices).toEqual([])
})

test('WATCHDOG_AUTO_REPAIR=false only notifies', async () => {
  await using watch = await openWatch({ agents: 1, settings: { repairsItself: false } })
  const fake = only(watch)
  await untilAll(watch, 'running')
  fake.health = 'refusing'
  await untilAll(watch, 'degraded')
  await looksMore(watch, 5)
  fake.health = 'live'
  await untilAll(watch, 'running')
  for (const startedAt of [2000, 3000, 4000]) {
    fake.inspection = { ...fake.inspection, startedAt: new Date(startedAt), restarts: fake.inspection.restarts + 1 }
    await looksMore(watch, 2)
  }
  await untilAll(watch, 'crash_loop')
  expect(kinds(watch)).toEqual(['degraded', 'recovered', 'crash', 'crash', 'crash_loop'])
  expect(watch.repairs).toEqual([])
  expect(rowOf(watch, fake).status).toBe('running')
})

test('two failed repairs are a crash loop: the row has the reason, and no repair follows', async () => {
  await using watch = await openWatch({ agents: 1, repairAgent: async () => false })
  const fake = only(watch)
  await untilAll(watch, 'running')
  fake.health = 'refusing'
  await untilAll(watch, 'crash_loop')
  expect(kinds(watch)).toEqual([
    'degraded',
    'repair_started',
    'repair_failed',
    'repair_started',
    'repair_failed',
    'crash_loop',
  ])
  expect(watch.notices.at(-1)).toMatchObject({ attempt: 2, status: 'The agent is not healthy after 2 repairs' })
  expect(rowOf(watch, fake).status).toBe('error')
  expect(watch.repairs).toHaveLength(2)
})

test('an agent that its user restarts during a repair is not affected by its result', async () => {
  const ended = Promise.withResolvers<boolean>()
  await using watch = await openWatch({ agents: 1, repairAgent: () => ended.promise })
  const fake = only(watch)
  await untilAll(watch, 'running')
  fake.health = 'refusing'
  await untilAll(watch, 'repairing')
  fake.health = 'live'
  watch.clock.advance(1000)
  const startedAt = watch.clock.now()
  await write(watch.platform.db, (tx) => tx.update(agents).set({ startedAt }).where(eq(agents.id, fake.id)).run())
  ended.resolve(false)
  await untilAll(watch, 'running')
  expect(watch.show(fake.id)).toMatchObject({ attempts: 0 })
  expect(kinds(watch)).toEqual(['degraded', 'repair_started'])
})

test('an agent with a running operation is not repaired', async () => {
  await using watch = await openWatch({ agents: 2 })
  const [busy, other] = watch.fakes
  if (!busy || !other) throw new Error('Expected two agents')
  await untilAll(watch, 'running')
  const job = {
    kind: 'agents.deploy',
    payload: {},
    status: 'running',
    runAt: new Date(),
    createdAt: new Date(),
  } as const
  await write(watch.platform.db, (tx) =>
    tx
      .insert(jobs)
      .values({ id: 'job_1', key: `deploy:${busy.id}`, ...job })
      .run(),
  )
  busy.health = 'refusing'
  other.health = 'refusing'
  await until('the repair of the other', () => watch.repairs.includes(other.id))
  expect(watch.repairs).toEqual([other.id])
  expect(watch.show(busy.id).state).toBe('running')
  await write(watch.platform.db, (tx) => tx.update(jobs).set({ status: 'done', key: null }).run())
  await until('its own repair', () => watch.repairs.includes(busy.id))
})

test('exit code 78 causes a repair and is no crash', async () => {
  await using watch = await openWatch({ agents: 1 })
  const fake = only(watch)
  await untilAll(watch, 'running')
  fake.inspection = { ...fake.inspection, state: 'exited', startedAt: null, exitCode: 78 }
  fake.health = 'refusing'
  watch.emitDied(fake.id)
  await until('its repair', () => kinds(watch).includes('repaired'))
  expect(kinds(watch)).toEqual(['degraded', 'repair_started', 'repaired'])
  expect(watch.notices[0]?.status).toBe('The agent does not answer its health check (exit code 78: bad configuration)')
  expect(watch.show(fake.id).crashes).toBe(0)
})

test('an agent that exceeded its memory limit has that reason', async () => {
  await using watch = await openWatch({ agents: 1 })
  const fake = only(watch)
  await untilAll(watch, 'running')
  fake.health = 'refusing'
  fake.inspection = { ...fake.inspection, state: 'restarting', startedAt: null, exitCode: 137, isOutOfMemory: true }
  watch.emitDied(fake.id)
  await until('the crash', () => kinds(watch).includes('crash'))
  expect(watch.notices).toMatchObject([
    { kind: 'crash', outOfMemory: true, exitCode: 137, status: 'The agent crashed (its memory limit ended it)' },
  ])
  expect(watch.show(fake.id)).toMatchObject({ state: 'starting', crashes: 1, outOfMemory: true })
})

test.each([3_600_000, -3_600_000, 10 * 31_536_000_000, -10 * 31_536_000_000])(
  'a wall clock that jumps by %d ms changes nothing',
  async (ms) => {
    await using watch = await openWatch({ agents: 2 })
    await untilAll(watch, 'running')
    watch.clock.advance(ms)
    const before = watch.looks
    const begin = performance.now()
    await looksMore(watch, 6)
    // Six checks of two agents are three intervals: the watchdog neither floods nor stops.
    expect(performance.now() - begin).toBeWithin(300, atMostMs(5000))
    expect(watch.looks - before).toBeLessThan(12)
    expect(watch.states()).toEqual(['running', 'running'])
    expect(watch.notices).toEqual([])
  },
)

function rowOf(watch: Watch, { id }: FakeAgent) {
  const row = watch.platform.db.select().from(agents).where(eq(agents.id, id)).get()
  if (!row) throw new Error('The agent is gone')
  return row
}

import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/agents.ts'
import { watchdogHours } from './tables.ts'
import { addUptime, isOldHour, readUptime, toUptimeSpan } from './uptime.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NONE = { upMs: 0, downMs: 0, unknownMs: 0 }

async function openHours() {
  const { platform } = testPlatform()
  const row = {
    ownerId: null,
    name: 'Ada',
    model: 'm',
    plan: 'solo',
    aiProvider: 'openrouter',
    status: 'running',
  } as const
  const { id } = await write(platform.db, (tx) => insertAgent(platform, tx, row))
  return {
    id,
    db: platform.db,
    add: (end: string, spell: Partial<typeof NONE>) =>
      write(platform.db, (tx) => addUptime(tx, id, new Date(end), { ...NONE, ...spell })),
    hours: () => platform.db.select().from(watchdogHours).all(),
  }
}

test('addUptime splits a span over its hours', async () => {
  const { id, add, hours } = await openHours()
  await add('2026-11-20T12:20:00Z', { upMs: 90 * MINUTE })
  await add('2026-11-20T12:30:00Z', { downMs: 10 * MINUTE })
  const noon = Date.parse('2026-11-20T12:00:00Z') / HOUR
  expect(hours()).toEqual([
    { agentId: id, hour: noon - 2, upMs: 10 * MINUTE, downMs: 0, unknownMs: 0 },
    { agentId: id, hour: noon - 1, upMs: 60 * MINUTE, downMs: 0, unknownMs: 0 },
    { agentId: id, hour: noon, upMs: 20 * MINUTE, downMs: 10 * MINUTE, unknownMs: 0 },
  ])
})

test('readUptime returns percentages of the known time, null without any', async () => {
  const { id, db, add } = await openHours()
  const now = new Date('2026-11-20T12:30:00Z')
  expect(readUptime(db, id, now, NONE)).toEqual({ day: null, week: null, month: null })
  await add('2026-11-20T12:00:00Z', { upMs: 3 * HOUR, unknownMs: 2 * HOUR })
  await add('2026-11-17T12:00:00Z', { downMs: HOUR })
  await add('2026-10-25T12:00:00Z', { downMs: 4 * HOUR })
  expect(readUptime(db, id, now, NONE)).toEqual({ day: 100, week: 75, month: 37.5 })
  expect(readUptime(db, id, now, { ...NONE, downMs: HOUR })).toMatchObject({ day: 75 })
})

test('toUptimeSpan limits trust and jumps of the clock', () => {
  expect(toUptimeSpan(true, 1000, 5000)).toEqual({ upMs: 1000, downMs: 0, unknownMs: 0 })
  expect(toUptimeSpan(false, 9000, 5000)).toEqual({ upMs: 0, downMs: 5000, unknownMs: 4000 })
  expect(toUptimeSpan(true, -9000, 5000)).toEqual(NONE)
  const { upMs, downMs, unknownMs } = toUptimeSpan(false, 1e15, Number.MAX_SAFE_INTEGER)
  expect(upMs + downMs + unknownMs).toBeLessThanOrEqual(31 * 24 * HOUR)
})

test('isOldHour selects hours older than a month', async () => {
  const { db, add, hours } = await openHours()
  await add('2026-10-20T12:00:00Z', { upMs: HOUR })
  await add('2026-10-22T12:00:00Z', { upMs: HOUR })
  await deleteInBatches(db, watchdogHours, isOldHour(new Date('2026-11-20T12:00:00Z')))
  expect(hours()).toHaveLength(1)
})

import { expect, test } from 'bun:test'
import { findHold } from '../../../../tests/harness/speed/loop-hold.ts'
import { findNextRun } from './schedule.ts'

/** Returns the next `count` times after `from`. */
async function timesOf(cronSchedule: string, timezone: string, from: string, count: number): Promise<string[]> {
  const times: string[] = []
  let after = new Date(from)
  for (let index = 0; index < count; index++) {
    after = (await findNextRun({ cronSchedule, timezone }, after)) ?? after
    times.push(after.toISOString().slice(0, 16))
  }
  return times
}

test('findNextRun returns one time for a daily task and every hour for an hourly one when clocks go back', async () => {
  expect(await timesOf('30 1 * * *', 'America/New_York', '2026-10-31T00:00:00Z', 3)).toEqual([
    '2026-10-31T05:30',
    '2026-11-01T05:30',
    '2026-11-02T06:30',
  ])
  expect(await timesOf('0 * * * *', 'America/New_York', '2026-11-01T04:45:00Z', 3)).toEqual([
    '2026-11-01T05:00',
    '2026-11-01T06:00',
    '2026-11-01T07:00',
  ])
})

test('findNextRun returns a time on the same day when clocks go forward over the hour of a task', async () => {
  expect(await timesOf('30 2 * * *', 'America/New_York', '2027-03-13T00:00:00Z', 3)).toEqual([
    '2027-03-13T07:30',
    '2027-03-14T07:00',
    '2027-03-15T06:30',
  ])
})

test('findNextRun returns 29 February across 2100, and one on a weekday decades later', async () => {
  expect(await timesOf('0 0 29 2 *', 'UTC', '2096-03-01T00:00:00Z', 1)).toEqual(['2104-02-29T00:00'])
  expect(await timesOf('0 0 29 2 +MON', 'UTC', '2088-03-01T00:00:00Z', 1)).toEqual(['2112-02-29T00:00'])
})

test.each(['0 0 30 2 *', '0-59/13 59 0 15W 1-12 +MON#5', '0 0 LW * +SUN#5', '0,30 2 */31 * +6L', '* 0 29W * +0#1'])(
  'findNextRun does not block the event loop when %s is never due',
  async (cronSchedule) => {
    const schedule = { cronSchedule, timezone: 'America/New_York' }
    const work = async () => expect(await findNextRun(schedule, new Date('2026-11-20T00:00:00Z'))).toBeNull()
    expect(await findHold(50, work)).toBeLessThan(50)
  },
)

test('findNextRun returns a time of @at once, at its own offset, and of @every at its interval', async () => {
  const once = { cronSchedule: '@at 2026-12-24T18:00+01:00', timezone: 'UTC' }
  expect(await findNextRun(once, new Date('2026-12-24T16:59:59Z'))).toEqual(new Date('2026-12-24T17:00:00Z'))
  expect(await findNextRun(once, new Date('2026-12-24T17:00:00Z'))).toBeNull()
  expect(await timesOf('@every 90m', 'UTC', '2026-01-01T00:00:00Z', 2)).toEqual([
    '2026-01-01T01:30',
    '2026-01-01T03:00',
  ])
  expect(await timesOf('@every 1d', 'UTC', '2026-01-01T00:00:00Z', 1)).toEqual(['2026-01-02T00:00'])
})

test.each([
  '@every 0m',
  '@every 15',
  '@every 30s',
  '@at soon',
  '@at 2026-12-24',
  '@at 2026-12-24T18:00',
  '@daily',
  '@',
])('findNextRun throws when the schedule is %j', (cronSchedule) => {
  expect(findNextRun({ cronSchedule, timezone: 'UTC' }, new Date())).rejects.toThrow('Expected @every')
})

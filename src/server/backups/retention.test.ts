import { expect, test } from 'bun:test'
import { listOutdated } from './run.ts'

const DAY_MS = 86_400_000

/** One a day at 03:00, and a second one at 15:00, back from a Sunday. */
function listDaily(count: number) {
  const last = Date.parse('2026-11-22T15:00:00.000Z')
  return Array.from({ length: 2 * count }, (_, index) => ({
    createdAt: new Date(last - (index * DAY_MS) / 2).toISOString(),
  }))
}

function listKept(count: number, keep: { days: number; weeks: number; months: number }): string[] {
  const all = listDaily(count)
  const gone = new Set(listOutdated(all, keep))
  return all.filter((backup) => !gone.has(backup)).map(({ createdAt }) => createdAt.slice(0, 13))
}

test('listOutdated keeps the newest backup of each of the last days, weeks and months', () => {
  expect(listKept(400, { days: 3, weeks: 3, months: 3 })).toEqual([
    ...['2026-11-22T15', '2026-11-21T15', '2026-11-20T15', '2026-11-15T15', '2026-11-08T15'],
    ...['2026-10-31T15', '2026-09-30T15'],
  ])
  expect(listKept(400, { days: 7, weeks: 4, months: 6 })).toHaveLength(7 + 3 + 5)
})

test('listOutdated always keeps the newest backup, ignores days without one, and counts one that is kept twice once', () => {
  expect(listKept(1, { days: 0, weeks: 0, months: 1 })).toEqual(['2026-11-22T15'])
  const old = [{ createdAt: '2020-01-01T00:00:00.000Z' }, { createdAt: '2021-01-01T00:00:00.000Z' }]
  expect(listOutdated(old, { days: 2, weeks: 0, months: 0 })).toEqual([])
  expect(listOutdated(old, { days: 1, weeks: 0, months: 0 })).toEqual([{ createdAt: '2020-01-01T00:00:00.000Z' }])
  const all = listDaily(400)
  const keep = { days: 5, weeks: 2, months: 2 }
  const kept = all.filter((backup) => !listOutdated(all, keep).includes(backup))
  expect(listOutdated(kept, keep)).toEqual([])
  expect(listOutdated([], keep)).toEqual([])
})

import { expect, test } from 'bun:test'
import { describeSchedule, fromCron, listNextRuns, type Sentence, toCron } from './sentence.ts'

test.each<[string, Sentence, string]>([
  ['*/15 * * * *', { kind: 'minutes', every: 15 }, 'every 15 minutes'],
  ['5 * * * *', { kind: 'hours', minute: 5 }, 'every hour at 05 past'],
  ['0 9 * * *', { kind: 'day', time: '09:00' }, 'every day at 09:00'],
  ['30 8 * * 1-5', { kind: 'week', days: [1, 2, 3, 4, 5], time: '08:30' }, 'on weekdays at 08:30'],
  ['0 10 * * 0,6', { kind: 'week', days: [0, 6], time: '10:00' }, 'at weekends at 10:00'],
  ['0 7 * * 3', { kind: 'week', days: [3], time: '07:00' }, 'every Wednesday at 07:00'],
  ['0 6 1 * *', { kind: 'month', day: 1, time: '06:00' }, 'on day 1 of each month at 06:00'],
])('fromCron and toCron convert %s', (cron, sentence, words) => {
  expect(fromCron(cron)).toEqual(sentence)
  expect(toCron(sentence)).toBe(cron)
  expect(describeSchedule(cron)).toBe(words)
})

test.each(['0 9 1 * 1', '0 9 * 2 *', '0,30 9 * * *', '60 9 * * *', '0 0 9 * * *', 'tomorrow', '0 9 32 * *'])(
  'fromCron, for %s, returns null',
  (cron) => {
    expect(fromCron(cron)).toBeNull()
    expect(describeSchedule(cron)).toBe(cron)
  },
)

test('listNextRuns follows the time zone across a clock change, and throws when a schedule is invalid', () => {
  const from = new Date('2026-03-28T12:00:00Z')
  const runs = listNextRuns('0 9 * * *', 'Europe/Berlin', 2, from).map((run) => run.toISOString())
  expect(runs).toEqual(['2026-03-29T07:00:00.000Z', '2026-03-30T07:00:00.000Z'])
  expect(listNextRuns('@every 2h', 'UTC', 2, from).map((run) => run.toISOString())).toEqual([
    '2026-03-28T14:00:00.000Z',
    '2026-03-28T16:00:00.000Z',
  ])
  expect(listNextRuns('@at 2026-01-01T00:00Z', 'UTC', 5, from)).toEqual([])
  for (const bad of ['0 9 * *', '@daily', '99 9 * * *', '@at soon']) {
    expect(() => listNextRuns(bad, 'UTC', 5, from)).toThrow()
  }
})

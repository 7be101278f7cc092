import { expect, test } from 'bun:test'
import { daysOfMonth, forecastEnd, forecastSum, formatCost, formatDuration, formatShare } from './figures.ts'

test('formatCost keeps fractions of a cent readable and shows cents for dollars', () => {
  expect([0, 0.000123, 0.04321, 0.5, 1, 1234.567].map(formatCost)).toEqual([
    '$0.00',
    '$0.000123',
    '$0.0432',
    '$0.50',
    '$1.00',
    '$1,234.57',
  ])
  expect(formatCost(1e-12)).toBe('<$0.000000001')
})

test('formatShare rounds to whole percents and never shows a part as 0%', () => {
  expect([formatShare(0, 10), formatShare(1, 3), formatShare(10, 10), formatShare(1, 1000), formatShare(0, 0)]).toEqual(
    ['0%', '33%', '100%', '<1%', '0%'],
  )
})

test.each([
  [0, 'under 1 ms'],
  [0.4, 'under 1 ms'],
  [12.4, '12 ms'],
  [99, '99 ms'],
  [100, '0.1 s'],
  [1234, '1.2 s'],
])('formatDuration, for %p, returns %p', (ms, words) => {
  expect(formatDuration(ms)).toBe(words)
})

const tenthDay = new Date('2026-11-11T00:00:00Z')

test('forecastSum projects the current rate and returns null on the first day', () => {
  expect(forecastSum(100, tenthDay)).toBe(300)
  expect(forecastSum(0, tenthDay)).toBeNull()
  expect(forecastSum(100, new Date('2026-11-01T20:00:00Z'))).toBeNull()
})

test('forecastEnd returns the day on which the limit is reached', () => {
  expect(forecastEnd(100, 200, tenthDay)).toEqual(new Date('2026-11-21T00:00:00Z'))
  expect(forecastEnd(100, 300, tenthDay)).toBeNull()
  expect(forecastEnd(200, 200, tenthDay)).toBeNull()
})

test('daysOfMonth returns the length of each month', () => {
  expect([daysOfMonth(tenthDay), daysOfMonth(new Date('2028-02-10T00:00:00Z'))]).toEqual([30, 29])
})

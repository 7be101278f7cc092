import { expect, test } from 'bun:test'
import { daysOfMonth, forecastEnd, forecastSum } from './forecast.ts'

const tenthDay = new Date('2026-11-11T00:00:00Z')

test('a month goes on as it did so far; of its first day nothing is said', () => {
  expect(forecastSum(100, tenthDay)).toBe(300)
  expect(forecastSum(0, tenthDay)).toBeNull()
  expect(forecastSum(100, new Date('2026-11-01T20:00:00Z'))).toBeNull()
})

test('a limit that will not last has the day on which it ends', () => {
  expect(forecastEnd(100, 200, tenthDay)).toEqual(new Date('2026-11-21T00:00:00Z'))
  expect(forecastEnd(100, 300, tenthDay)).toBeNull()
  expect(forecastEnd(200, 200, tenthDay)).toBeNull()
})

test('months have their own lengths', () => {
  expect([daysOfMonth(tenthDay), daysOfMonth(new Date('2028-02-10T00:00:00Z'))]).toEqual([30, 29])
})

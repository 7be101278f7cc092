import { expect, test } from 'bun:test'
import { daysOfMonth, forecastEnd, forecastSum } from './forecast.ts'

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

import { expect, test } from 'bun:test'
import { addDays, toDay, toMonth } from './clock.ts'

test('toDay and toMonth return days and months in UTC', () => {
  const time = new Date('2026-11-30T23:59:59.999-05:00')
  expect(toDay(time)).toBe('2026-12-01')
  expect(toMonth(time)).toBe('2026-12')
})

test('addDays returns the right day when the month or year changes', () => {
  expect(toDay(addDays(new Date('2026-12-31T12:00:00Z'), 1))).toBe('2027-01-01')
  expect(toDay(addDays(new Date('2027-01-01T12:00:00Z'), -1))).toBe('2026-12-31')
})

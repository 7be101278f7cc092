import { expect, test } from 'bun:test'
import { nextLocalMidnight, startOfLocalDay, toLocalDay } from './local-day.ts'

test('toLocalDay returns the day on the calendar of a time zone', () => {
  const time = new Date('2026-11-28T23:30:00Z')
  expect(toLocalDay(time, null)).toBe('2026-11-28')
  expect(toLocalDay(time, 'Europe/Berlin')).toBe('2026-11-29')
  expect(toLocalDay(time, 'America/Los_Angeles')).toBe('2026-11-28')
})

test('startOfLocalDay returns midnight, or the first moment when a day has no midnight', () => {
  expect(startOfLocalDay('2026-11-29', 'Europe/Berlin').toISOString()).toBe('2026-11-28T23:00:00.000Z')
  expect(startOfLocalDay('2026-11-29', 'Pacific/Kiritimati').toISOString()).toBe('2026-11-28T10:00:00.000Z')
  expect(startOfLocalDay('2026-11-29', null).toISOString()).toBe('2026-11-29T00:00:00.000Z')
  // Clocks in Beirut go from 24:00 to 01:00 on the first day of summer time.
  expect(startOfLocalDay('2026-03-29', 'Asia/Beirut').toISOString()).toBe('2026-03-28T22:00:00.000Z')
})

test('nextLocalMidnight returns the right time when a day has 23 or 25 hours', () => {
  const midnight = (time: string) => nextLocalMidnight(new Date(time), 'Europe/Berlin').toISOString()
  expect(midnight('2026-03-28T23:00:00Z')).toBe('2026-03-29T22:00:00.000Z')
  expect(midnight('2026-10-24T22:00:00Z')).toBe('2026-10-25T23:00:00.000Z')
})

import { expect, test } from 'bun:test'
import { isTimeZone, toLocalTime } from './time-zone.ts'

test.each([
  ['Europe/Berlin', 'Tuesday, 24 November 2026, 13:05 (Europe/Berlin, GMT+1)'],
  ['Asia/Kolkata', 'Tuesday, 24 November 2026, 17:35 (Asia/Kolkata, GMT+5:30)'],
  ['Pacific/Kiritimati', 'Wednesday, 25 November 2026, 02:05 (Pacific/Kiritimati, GMT+14)'],
  ['America/New_York', 'Tuesday, 24 November 2026, 07:05 (America/New_York, GMT-5)'],
])('toLocalTime returns the day, time and offset in %s', (timeZone, text) => {
  expect(toLocalTime(new Date('2026-11-24T12:05:00Z'), timeZone)).toBe(text)
})

test('isTimeZone returns true only for IANA names', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires']) expect(isTimeZone(name)).toBe(true)
  for (const name of ['', '+02:00', 'Mars/Olympus', '02:00']) expect(isTimeZone(name)).toBe(false)
})

import { expect, test } from 'bun:test'
import {
  formatBinaryBytes,
  formatPercent,
  formatStats,
  formatTraffic,
  formatUpFor,
  formatUptime,
  toPercent,
} from './format.ts'

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000] as const

test.each([
  [0, '0B'],
  [1023, '1023B'],
  [1024, '1KiB'],
  [128 * 1024 ** 2, '128MiB'],
  [2 * 1024 ** 3, '2GiB'],
  [2_096_128_000, '1.95GiB'],
  [123.46 * 1024 ** 2, '123.5MiB'],
])('formatBinaryBytes of %d bytes is %s', (bytes, text) => {
  expect(formatBinaryBytes(bytes)).toBe(text)
})

test.each([
  [1200, 3400, '1.2kB / 3.4kB'],
  [0, 0, '0B / 0B'],
  [999, 1_500_000, '999B / 1.5MB'],
  [null, 5, 'N/A'],
  [null, null, 'N/A'],
])('formatTraffic of %p and %p is %s', (inBytes, outBytes, text) => {
  expect(formatTraffic(inBytes, outBytes)).toBe(text)
})

test.each([
  [0, '0s'],
  [59 * SECOND, '59s'],
  [5 * MINUTE + 3 * SECOND, '5m 3s'],
  [2 * HOUR + 5 * MINUTE, '2h 5m'],
  [DAY, '1d 0h'],
  [3 * DAY + 4 * HOUR + 5 * MINUTE, '3d 4h'],
])('formatUptime of %d ms is %s', (uptimeMs, text) => {
  expect(formatUptime(uptimeMs)).toBe(text)
})

test.each([
  [500, 'Up Less than a second'],
  [SECOND, 'Up 1 second'],
  [42 * SECOND, 'Up 42 seconds'],
  [61 * SECOND, 'Up About a minute'],
  [59 * MINUTE, 'Up 59 minutes'],
  [HOUR, 'Up About an hour'],
  [2 * HOUR, 'Up 2 hours'],
  [47 * HOUR, 'Up 47 hours'],
  [2 * DAY, 'Up 2 days'],
  [14 * DAY, 'Up 2 weeks'],
  [60 * DAY, 'Up 2 months'],
  [800 * DAY, 'Up 2 years'],
])('formatUpFor of %d ms is %j', (uptimeMs, text) => {
  expect(formatUpFor(uptimeMs)).toBe(text)
})

test('formatPercent has one decimal place, and toPercent is 0 when the total is 0', () => {
  expect([formatPercent(12.46), formatPercent(0), formatPercent(100)]).toEqual(['12.5%', '0%', '100%'])
  expect([toPercent(1, 4), toPercent(1, 0)]).toEqual([25, 0])
})

test('formatStats returns the figures of an agent, and null when its runtime cannot measure one', () => {
  const stats = {
    cpuPercent: 0.149,
    memoryBytes: 100 * 1024 ** 2,
    memoryLimitBytes: 1024 ** 3,
    processes: 12,
    uptimeMs: DAY + 0.4,
    networkInBytes: 1200,
    networkOutBytes: 3400,
    diskReadBytes: null,
    diskWriteBytes: null,
  }
  expect(formatStats(stats)).toEqual({
    cpu: '0.1%',
    memory: '100MiB / 1GiB',
    memoryPercent: '9.8%',
    network: '1.2kB / 3.4kB',
    blockIO: 'N/A',
    pids: '12',
    uptime: DAY,
    uptimeFormatted: '1d 0h',
  })
})

import { expect, test } from 'bun:test'
import { byDay, toTimeline } from './timeline.ts'

const deployment = (id: number, requestedAt: string) => ({
  id,
  kind: 'restart',
  requestedBy: 'user',
  step: 'health',
  result: 'succeeded',
  image: null,
  previousImage: null,
  reason: null,
  logTail: null,
  backupPath: null,
  requestedAt,
  finishedAt: null,
  durationMs: null,
})
const event = {
  id: 'e',
  kind: 'crash',
  state: 'degraded',
  attempt: 0,
  exitCode: 1,
  outOfMemory: false,
  rung: null,
  detail: null,
  logTail: null,
} as const
const deployments = [deployment(2, '2026-01-03T12:00:00Z'), deployment(1, '2026-01-01T12:00:00Z')]
const events = [{ ...event, at: '2026-01-03T11:00:00Z' }]
const times = { firstAt: '2026-01-02T10:00:00Z', lastAt: '2026-01-02T11:00:00Z' }
const blocked = [{ host: 'a.example', port: 443, reason: 'policy' as const, count: 2, ...times }]
const KNOWN = { deployments, events, blocked }

test('toTimeline merges deployments, watchdog events and blocked destinations, newest first, and filters them', () => {
  expect(toTimeline(KNOWN, 'all').map(({ id }) => id)).toEqual([
    'deployment 2',
    'watchdog e',
    'blocked a.example:443',
    'deployment 1',
  ])
  expect(toTimeline(KNOWN, 'watchdog').map(({ id }) => id)).toEqual(['watchdog e'])
})

test('byDay groups by day and keeps the order', () => {
  const days = byDay(toTimeline(KNOWN, 'all'))
  expect(days.map(([, happenings]) => happenings.length)).toEqual([2, 1, 1])
})

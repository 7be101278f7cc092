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

test('toTimeline merges deployments and watchdog events, newest first, and filters them', () => {
  expect(toTimeline(deployments, events, 'all').map(({ id }) => id)).toEqual([
    'deployment 2',
    'watchdog e',
    'deployment 1',
  ])
  expect(toTimeline(deployments, events, 'watchdog').map(({ id }) => id)).toEqual(['watchdog e'])
})

test('byDay groups by day and keeps the order', () => {
  const days = byDay(toTimeline(deployments, events, 'all'))
  expect(days.map(([, happenings]) => happenings.length)).toEqual([2, 1])
})

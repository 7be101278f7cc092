import { expect, test } from 'bun:test'
import { toMarks } from './marks.ts'

const deployment = {
  id: 1,
  kind: 'update',
  requestedBy: 'user',
  step: 'health',
  result: 'rolled-back',
  image: null,
  previousImage: null,
  reason: null,
  logTail: null,
  backupPath: null,
  requestedAt: '2026-01-02T00:00:00Z',
  finishedAt: null,
  durationMs: null,
}
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

test('toMarks returns deployments and crashes in range, oldest first, without health events', () => {
  const events = [
    { ...event, at: '2026-01-01T12:00:00Z' },
    { ...event, kind: 'running', at: '2026-01-01T13:00:00Z' },
    { ...event, at: '2025-12-31T00:00:00Z' },
  ]
  expect(toMarks([deployment], events, Date.UTC(2026, 0, 1))).toEqual([
    { at: Date.UTC(2026, 0, 1, 12), kind: 'crash', text: 'Crashed' },
    { at: Date.UTC(2026, 0, 2), kind: 'deployment', text: 'Update was rolled back' },
  ])
})

import { expect, test } from 'bun:test'
import type { Deployment } from '../../src/features/agents/deployments/schemas.ts'
import { describeStep, findLastImage, findUnderWay, whyNot } from './work.ts'

const done: Deployment = {
  id: 1,
  kind: 'update',
  requestedBy: 'user_1',
  step: 'done',
  result: 'succeeded',
  image: 'agent:2',
  previousImage: 'agent:1',
  reason: null,
  logTail: null,
  backupPath: null,
  requestedAt: '2026-01-01T00:00:00.000Z',
  finishedAt: '2026-01-01T00:00:05.000Z',
  durationMs: 5000,
}

test('findImage returns the last successful image, or the one before after a rollback', () => {
  const restart: Deployment = { ...done, id: 2, kind: 'restart', image: null, previousImage: null }
  expect(findLastImage([restart, done])).toBe('agent:2')
  const undone: Deployment = { ...done, id: 3, result: 'rolled-back', image: 'agent:3', previousImage: 'agent:2' }
  expect(findLastImage([undone, done])).toBe('agent:2')
  expect(findLastImage([{ ...done, result: 'failed' }, restart])).toBeNull()
})

test('findUnderWay returns the oldest unfinished deployment', () => {
  const first: Deployment = { ...done, id: 2, result: null, step: 'health' }
  const second: Deployment = { ...done, id: 3, result: null, step: 'queued' }
  expect(findUnderWay([second, first, done])).toBe(first)
  expect(findUnderWay([done])).toBeNull()
})

test('describeStep prefers the live detail', () => {
  const pulling: Deployment = { ...done, result: null, step: 'pull' }
  const event = { status: 'running', step: 'starting', error: null } as const
  expect(describeStep(pulling, null)).toBe('pulling the image')
  expect(describeStep(pulling, { ...event, detail: 'image: Downloading 30 %' })).toBe('image: Downloading 30 %')
  expect(describeStep(pulling, { ...event, detail: 'snapshot' })).toBe('saving a snapshot')
})

test('whyNot returns a reason when an action is unavailable', () => {
  expect(whyNot('running', 'start')).toBe('Already running')
  expect(whyNot('running', 'update')).toBeNull()
  expect(whyNot('provisioning', 'repair')).not.toBeNull()
  expect(whyNot('stopped', 'repair')).toBeNull()
})

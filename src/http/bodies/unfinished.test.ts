import { expect, test } from 'bun:test'
import { AppError } from '../../core/errors.ts'
import { createBodies, type Holder } from './unfinished.ts'

const LIMITS = { totalBytes: 100, strangersBytes: 40, holderBytes: 50, strangerBytes: 20 }
const user = (key: string): Holder => ({ key, isKnown: true })
const stranger = (key: string): Holder => ({ key, isKnown: false })

/** Starts a body of `bytes` and returns whether it was accepted, and its end. */
function take(bodies: ReturnType<typeof createBodies>, holder: Holder, bytes: number) {
  const share = bodies.beginBody(holder)
  try {
    share.add(bytes)
    return { isAdmitted: true, close: share.close }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    expect([error.kind, error.extra.retryAfter]).toEqual(['unavailable', '1'])
    return { isAdmitted: false, close: share.close }
  }
}

test('a user has a share whatever others use, and gets it back when a body ends', () => {
  const bodies = createBodies(LIMITS)
  const first = take(bodies, user('ada'), 30)
  expect(take(bodies, user('ada'), 21).isAdmitted).toBe(false)
  expect(take(bodies, user('ada'), 20).isAdmitted).toBe(true)
  expect(take(bodies, user('bo'), 50).isAdmitted).toBe(true)
  expect(take(bodies, user('cy'), 1).isAdmitted).toBe(false)
  first.close()
  expect(take(bodies, user('cy'), 30).isAdmitted).toBe(true)
})

test('strangers share a part, and never use the share of users', () => {
  const bodies = createBodies(LIMITS)
  expect(take(bodies, stranger('203.0.113.1'), 21).isAdmitted).toBe(false)
  expect(take(bodies, stranger('203.0.113.1'), 20).isAdmitted).toBe(true)
  expect(take(bodies, stranger('203.0.113.2'), 20).isAdmitted).toBe(true)
  expect(take(bodies, stranger('203.0.113.3'), 1).isAdmitted).toBe(false)
  expect(take(bodies, user('203.0.113.1'), 50).isAdmitted).toBe(true)
})

test('a rejected body is not counted, and closing it twice releases it once', () => {
  const bodies = createBodies(LIMITS)
  const refused = take(bodies, user('ada'), 51)
  refused.close()
  const taken = take(bodies, user('ada'), 50)
  taken.close()
  taken.close()
  expect(bodies.bytesUnderWay()).toBe(0)
  expect(take(bodies, user('ada'), 50).isAdmitted).toBe(true)
})

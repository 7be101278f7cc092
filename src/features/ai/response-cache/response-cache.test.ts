import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { toCacheKey } from './cache-key.ts'
import { createResponseCache } from './response-cache.ts'

function cacheAt() {
  const clock = { ms: 0 }
  return { clock, cache: createResponseCache<string>({ nowMs: () => clock.ms }) }
}

test('find returns an answer until it expires', () => {
  const { cache, clock } = cacheAt()
  cache.store('k', 'answer', { seconds: 10, sizeBytes: 6 })
  clock.ms = 9999
  expect(cache.find('k')).toBe('answer')
  clock.ms = 10_000
  expect(cache.find('k')).toBeNull()
  expect(cache.find('other')).toBeNull()
})

test('store deletes the least recently used answers beyond 64 MiB, and stores none above 2 MiB', () => {
  const { cache } = cacheAt()
  const limits = { seconds: 60, sizeBytes: 1024 * 1024 }
  for (let index = 0; index < 60; index++) cache.store(`k${index}`, String(index), limits)
  expect(cache.find('k0')).toBe('0')
  for (let index = 60; index < 70; index++) cache.store(`k${index}`, String(index), limits)
  expect(cache.find('k0')).toBe('0')
  expect(cache.find('k1')).toBeNull()
  expect(cache.find('k69')).toBe('69')
  cache.store('large', 'x', { seconds: 60, sizeBytes: 2 * 1024 * 1024 })
  expect(cache.find('large')).toBeNull()
})

test('toCacheKey depends on owner, endpoint, guardrails and body, not on order and irrelevant fields', () => {
  const question = { userId: 'u', guardrails: null, endpoint: '/v1/chat/completions', body: { model: 'm', n: 1 } }
  const key = toCacheKey(question)
  expect(toCacheKey({ ...question, body: { n: 1, model: 'm', user: 'x', metadata: { a: 1 }, fallbacks: ['b'] } })).toBe(
    key,
  )
  for (const changed of [
    { userId: 'v' },
    { endpoint: '/v1/messages' },
    { guardrails: { deny: ['x'] } },
    { body: { model: 'm', n: 2 } },
    { body: { model: 'm' } },
  ])
    expect(toCacheKey({ ...question, ...changed })).not.toBe(key)
})

test('toCacheKey is equal only when the bodies are', () => {
  const bodies = fc.dictionary(fc.constantFrom('model', 'messages', 'n', 'stop'), fc.jsonValue({ maxDepth: 2 }))
  fc.assert(
    fc.property(bodies, bodies, (one, other) => {
      const keyOf = (body: Record<string, unknown>) =>
        toCacheKey({ userId: 'u', guardrails: null, endpoint: '/e', body })
      const sorted = (body: object) => JSON.stringify(Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1)))
      expect(keyOf(one) === keyOf(other)).toBe(sorted(one) === sorted(other))
    }),
  )
})

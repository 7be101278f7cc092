import { expect, test } from 'bun:test'
import { rateEntry } from './rate-entry.ts'

test.each([
  ['keys', ['API keys', 'tokens'], 0.8],
  ['API k', ['API keys', 'tokens'], 1],
  ['token', ['API keys', 'tokens'], 0.5],
  ['logs lovelace', ['Lovelace: logs'], 0.8],
  ['lovel', ['Server health', 'mail', 'disk'], 0],
  ['api wallet', ['API keys', 'tokens'], 0],
  ['', ['API keys'], 1],
])('rateEntry, for %p and %p, returns %p', (typed, words, rating) => {
  expect(rateEntry('page /x', typed, words)).toBe(rating)
})

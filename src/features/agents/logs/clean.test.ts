import { expect, test } from 'bun:test'
import { createLineCleaner } from './follow.ts'

test.each([
  ['the token is gw-secret.value+1, again gw-secret.value+1!', 'the token is [redacted], again [redacted]!'],
  ['short ones such as abc stay', 'short ones such as abc stay'],
  ['Authorization: Bearer eyJhbGciOi', 'Authorization: Bearer [redacted]'],
  [`a key sk_${'a'.repeat(43)}`, 'a key sk_[redacted]'],
  ['a\0b', 'a\uFFFDb'],
  ['', ''],
])('createLineCleaner, when given %j, returns %j', (text, kept) => {
  expect(createLineCleaner(['gw-secret.value+1', 'abc'])(text)).toBe(kept)
})

test('createLineCleaner truncates a line with a notice when it is long', () => {
  expect(createLineCleaner([])('y'.repeat(10_000))).toBe(`${'y'.repeat(8192)} [1808 characters more]`)
})

test('createLineCleaner masks a secret when the truncation splits it', () => {
  const secret = 'topsecret-value-of-the-agent'
  expect(createLineCleaner([secret])(`${'y'.repeat(8180)}${secret}`)).not.toContain('topsecret')
})

import { expect, test } from 'bun:test'
import { formatDuration } from './duration.ts'

test.each([
  [0, 'under 1 ms'],
  [0.4, 'under 1 ms'],
  [12.4, '12 ms'],
  [99, '99 ms'],
  [100, '0.1 s'],
  [1234, '1.2 s'],
])('what took %p ms is told as %p', (ms, words) => {
  expect(formatDuration(ms)).toBe(words)
})

import { expect, test } from 'bun:test'
import { formatBytes } from './storage-section.tsx'

test.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1024, '1 KB'],
  [1_500_000, '1.4 MB'],
  [1023 * 1024, '1 MB'],
  [100 * 1024 ** 2, '100 MB'],
  [1024 ** 3, '1 GB'],
  [100 * 1024 ** 3, '100 GB'],
])('formatBytes, for %d, returns %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})

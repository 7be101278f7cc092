import { expect, test } from 'bun:test'
import http from 'node:http'
import { startServer } from '../../../tests/harness/server.ts'
import { until } from '../../../tests/harness/until.ts'
import { askRaw } from '../../../tests/harness/wires/raw-http.ts'
import { openHeadRoom } from './head-room.ts'

const GIGABYTE = 1024 ** 3
/** What Chromium sends when a page has set as many cookies as it may. */
const ALL_COOKIES = Array.from({ length: 180 }, (_none, index) => `bomb${index}=${'x'.repeat(4087)}`).join('; ')

test('a browser full of cookies is still answered, on each port', async () => {
  await using server = await startServer()
  for (const [url, path] of [
    [server.urls.web, '/api/health'],
    [server.urls.backend, '/health'],
    [server.urls.summarizer, '/health'],
  ] as const) {
    const { status } = await askRaw(url, [`GET ${path} HTTP/1.1`, 'Host: localhost', `Cookie: ${ALL_COOKIES}`])
    expect(status).toBe(200)
  }
})

test('memory that cannot be measured, because no file can be opened, counts as full', async () => {
  let isMeasured = true
  const close = openHeadRoom(() => {
    if (isMeasured) return GIGABYTE
    throw new Error('EMFILE')
  })
  try {
    isMeasured = false
    await until('small heads', () => http.maxHeaderSize === 16 * 1024)
  } finally {
    close()
  }
})

test('heads must be small while memory is full, and may be large again afterwards', async () => {
  let memoryBytes = GIGABYTE
  const close = openHeadRoom(() => memoryBytes)
  try {
    expect(http.maxHeaderSize).toBeGreaterThan(ALL_COOKIES.length)
    memoryBytes += GIGABYTE
    await until('small heads', () => http.maxHeaderSize === 16 * 1024)
    memoryBytes -= GIGABYTE
    await until('large heads', () => http.maxHeaderSize > ALL_COOKIES.length)
  } finally {
    close()
  }
})

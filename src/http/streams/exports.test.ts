import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { testApp } from '../../../tests/harness/http.ts'
import { until } from '../../../tests/harness/until.ts'
import { createExports, sendExport } from './exports.ts'

const MEGABYTE = 'x'.repeat(1024 * 1024)

/** A route that sends `pieces` to the account that the query names. */
function exporting(pieces: () => Iterator<string, void>) {
  const exports = createExports()
  const kept: number[] = []
  const app = testApp((routes) => {
    routes.get('/export', (c) => {
      const id = c.req.query('of') ?? 'ada'
      c.set('user', { id, email: '', name: '', isAdmin: false, plan: 'free', subscriptionId: null })
      return sendExport(c, { log: app.log, exports }, () => ({ name: 'all.txt', type: 'text/plain', pieces: pieces() }))
    })
  })
  const get = (query = '', init: RequestInit = {}) =>
    app.request(`/export${query}`, init, { keepOpen: (_request, seconds) => void kept.push(seconds ?? 0) })
  return { ...app, get, kept, isFree: async () => (await get('', { method: 'HEAD' })).status === 200 }
}

function* count(pieces: number): Generator<string, void> {
  for (let piece = 0; piece < pieces; piece++) yield `${piece}\n`
}

test('an export is an attachment with its chunks in order, and ends when the client does not read', async () => {
  const { get, kept } = exporting(() => count(3))
  const response = await get()
  expect(response.headers.get('content-disposition')).toBe('attachment; filename="all.txt"')
  expect(response.headers.get('content-type')).toBe('text/plain')
  expect(await response.text()).toBe('0\n1\n2\n')
  expect(kept).toEqual([30])
})

test('429 for a second export of one account until the first is read to its end', async () => {
  const { get } = exporting(() => count(3))
  const first = await get()
  const second = await get()
  expect(second.status).toBe(429)
  expect(await second.json()).toEqual({
    error: 'An export of this account is being sent already. Wait until it has ended.',
    code: 'EXPORT_RUNNING',
  })
  const other = await get('?of=eve')
  expect(other.status).toBe(200)
  await first.text()
  expect((await get()).status).toBe(200)
})

describe('another export may start after', () => {
  test('a HEAD request, which does not read the body', async () => {
    const { get } = exporting(() => count(3))
    for (let attempt = 0; attempt < 3; attempt++) {
      const response = await get('', { method: 'HEAD' })
      expect(response.status).toBe(200)
      expect(await response.text()).toBe('')
    }
  })

  test('a client disconnects, and no further chunk is created for it', async () => {
    let made = 0
    const { listen, isFree } = exporting(function* () {
      for (; ; made++) yield MEGABYTE
    })
    await using server = listen()
    const client = connect(Number(server.url.port), '127.0.0.1')
    client.write('GET /export HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await new Promise((resolve) => client.once('data', resolve))
    client.destroy()
    await until('the end of the export', isFree)
    const madeByThen = made
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(made).toBe(madeByThen)
  })

  test('a chunk fails, which is logged', async () => {
    // biome-ignore lint/correctness/useYield: it fails before there is anything to send
    const { get, isFree, lines } = exporting(function* () {
      throw new Error('the disk is gone')
    })
    const response = await get()
    await expect(response.text()).rejects.toThrow()
    expect(await isFree()).toBe(true)
    expect(JSON.stringify(lines)).toContain('the disk is gone')
  })

  test('an export could not be opened', async () => {
    let isOpened = false
    const { get } = exporting(() => {
      if (isOpened) return count(1)
      isOpened = true
      throw new Error('not now')
    })
    expect((await get()).status).toBe(500)
    expect((await get()).status).toBe(200)
  })
})

test('a client that does not read gets only a few chunks created', async () => {
  let made = 0
  const { listen } = exporting(function* () {
    for (; ; made++) yield MEGABYTE
  })
  await using server = listen()
  const client = connect(Number(server.url.port), '127.0.0.1')
  client.pause()
  client.write('GET /export HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until('the first pieces', () => made > 0)
  let before = -1
  // The buffers of both ends fill up, then no more is read.
  await until('a halt', async () => {
    const isSame = made === before
    before = made
    await new Promise((resolve) => setTimeout(resolve, 100))
    return isSame && made === before
  })
  expect(made).toBeLessThan(64)
  client.destroy()
})

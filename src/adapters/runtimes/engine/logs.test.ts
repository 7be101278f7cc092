import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { readLogLines, sinceOf } from './logs.ts'

const AT = '2026-11-20T15:17:04.873738940Z'
const LATER = '2026-11-20T15:17:04.9Z'

function frame(text: string, stream = 1): Buffer {
  const bytes = Buffer.from(text)
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0])
  header.writeUInt32BE(bytes.length, 4)
  return Buffer.concat([header, bytes])
}

async function* inPieces(bytes: Buffer, sizes: number[]): AsyncGenerator<Buffer> {
  let at = 0
  for (let index = 0; at < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

const read = (bytes: Buffer, after: string | null = null, sizes = [bytes.length]) =>
  Array.fromAsync(readLogLines(inPieces(bytes, sizes), after))

test('readLogLines returns whole lines when the stream is split anywhere', async () => {
  const written = [
    [1, 'one', AT],
    [2, 'zwei ü', LATER],
    [1, '', LATER],
    [1, '{"level":30}', LATER],
  ] as const
  const bytes = Buffer.concat(written.map(([stream, text, stamp]) => frame(`${stamp} ${text}\n`, stream)))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), async (sizes) => {
      const lines = await read(bytes, null, sizes)
      expect(lines.map(({ stream, text }) => [stream, text])).toEqual([
        ['stdout', 'one'],
        ['stderr', 'zwei ü'],
        ['stdout', ''],
        ['stdout', '{"level":30}'],
      ])
    }),
  )
})

test('readLogLines resumes after a cursor when timestamps are equal', async () => {
  const bytes = Buffer.concat([frame(`${AT} a\n`), frame(`${LATER} b\n`), frame(`${LATER} c\n`), frame(`${LATER} d\n`)])
  const all = await read(bytes)
  expect(new Set(all.map(({ cursor }) => cursor)).size).toBe(4)
  for (const [index, { cursor }] of all.entries()) {
    expect((await read(bytes, cursor)).map(({ text }) => text)).toEqual(['a', 'b', 'c', 'd'].slice(index + 1))
  }
  expect(sinceOf(all[0]?.cursor ?? null)).toBe('1795187824.873738940')
  expect(sinceOf(all[1]?.cursor ?? null)).toBe('1795187824.900000000')
  expect(sinceOf(null)).toBe('0')
})

test('readLogLines joins parts, keeps an unfinished line, and splits a long one', async () => {
  const parts = Buffer.concat([
    frame(`${AT} be`),
    frame(`${AT} err\n`, 2),
    frame(`${AT} gun\r\n`),
    frame(`${LATER} last`),
  ])
  expect((await read(parts)).map(({ text }) => text)).toEqual(['err', 'begun', 'last'])
  const flood = Buffer.concat(Array.from({ length: 40 }, () => frame(`${AT} ${'x'.repeat(16_000)}`)))
  const lines = await read(flood)
  expect(lines.length).toBeGreaterThan(5)
  expect(Math.max(...lines.map(({ text }) => text.length))).toBeLessThan(100_000)
})

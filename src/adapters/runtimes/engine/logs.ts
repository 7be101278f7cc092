import type { RuntimeLogLine } from '../contract/runtime.ts'

const HEADER_BYTES = 8
const STDERR = 2
/** Longer lines are split, because the platform buffers a line and agents control its length. */
const MAX_LINE_LENGTH = 64 * 1024
const TIMESTAMP = /^(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) /

type Frame = { stream: 'stdout' | 'stderr'; text: string }
type StampedLine = Frame & { stamp: string }

/** Yields the lines of a log stream with `timestamps`, oldest first, without those up to the cursor `skip`. */
export async function* readLogLines(
  stream: AsyncIterable<unknown>,
  skip: string | null,
): AsyncGenerator<RuntimeLogLine> {
  const known = skip === null ? null : parseCursor(skip)
  let last = { stamp: '', number: 0 }
  for await (const { stamp, text, stream: output } of joinLines(stream)) {
    last = { stamp, number: stamp === last.stamp ? last.number + 1 : 0 }
    if (known && !isAfter(last, known)) continue
    yield { cursor: `${last.stamp}#${last.number}`, at: new Date(last.stamp), stream: output, text }
  }
}

/**
 * Joins frames to lines: only a frame with a newline ends a line, and each frame of a long line has its own
 * timestamp.
 */
async function* joinLines(stream: AsyncIterable<unknown>): AsyncGenerator<StampedLine> {
  const begun = new Map<Frame['stream'], StampedLine>()
  for await (const { stream: output, text } of readFrames(stream)) {
    const [head = '', stamp = ''] = TIMESTAMP.exec(text) ?? []
    const line = begun.get(output) ?? { stream: output, stamp, text: '' }
    line.text += text.slice(head.length)
    if (!line.text.endsWith('\n') && line.text.length <= MAX_LINE_LENGTH) begun.set(output, line)
    else {
      begun.delete(output)
      yield { ...line, text: line.text.replace(/\r?\n$/, '') }
    }
  }
  yield* begun.values()
}

/** Returns the `since` parameter for the lines after `cursor`; 0 is the beginning. */
export function sinceOf(cursor: string | null): string {
  if (cursor === null) return '0'
  const { stamp } = parseCursor(cursor)
  const nanoseconds = /\.(\d+)/.exec(stamp)?.[1]?.padEnd(9, '0') ?? '000000000'
  return `${Math.floor(Date.parse(stamp) / 1000)}.${nanoseconds}`
}

type Place = { stamp: string; number: number }

function parseCursor(cursor: string): Place {
  const [stamp = '', number = '0'] = cursor.split('#')
  return { stamp, number: Number(number) }
}

/** Compares timestamps, which are in UTC and may omit trailing zeros. */
function isAfter(place: Place, known: Place): boolean {
  const [a, b] = [sinceOf(place.stamp), sinceOf(known.stamp)]
  if (a !== b) return a.length === b.length ? a > b : a.length > b.length
  return place.number > known.number
}

/**
 * Parses the engine's frames: stream, three zeros, length, payload. docker-modem's parser copies its whole buffer for
 * each frame and has no backpressure, so that a flood would slow everything down.
 */
async function* readFrames(stream: AsyncIterable<unknown>): AsyncGenerator<Frame> {
  let held: Buffer = Buffer.alloc(0)
  for await (const chunk of stream) {
    if (!Buffer.isBuffer(chunk)) continue
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    let at = 0
    while (held.length - at >= HEADER_BYTES) {
      const end = at + HEADER_BYTES + held.readUInt32BE(at + 4)
      if (held.length < end) break
      const text = held.toString('utf8', at + HEADER_BYTES, end)
      yield { stream: held[at] === STDERR ? 'stderr' : 'stdout', text }
      at = end
    }
    held = held.subarray(at)
  }
}

import type { RuntimeLogLine } from '../contract/runtime.ts'

const HEADER_BYTES = 8
const STDERR = 2
/** A longer line is cut in several: an agent decides what it writes, and the platform keeps a line in memory. */
const MAX_LINE_LENGTH = 64 * 1024
const TIMESTAMP = /^(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) /

type Frame = { stream: 'stdout' | 'stderr'; text: string }
type StampedLine = Frame & { stamp: string }

/**
 * Lines of a log stream that was asked for with `timestamps`, oldest first. `skip` is the cursor of the last line that is
 * already known: the stream may begin before it.
 */
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

/** Only a frame with an end of line ends a line: longer ones come in several, each with a timestamp of its own. */
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

/** The time from which the engine has to send for what comes after `cursor`, as its API takes it; 0 is the beginning. */
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

/** Timestamps are in UTC, of the engine's own clock, with the zeros at the end left out or not. */
function isAfter(place: Place, known: Place): boolean {
  const [a, b] = [sinceOf(place.stamp), sinceOf(known.stamp)]
  if (a !== b) return a.length === b.length ? a > b : a.length > b.length
  return place.number > known.number
}

/**
 * What the engine puts around the two outputs: kind, three zeros, length, then that many bytes. docker-modem reads this
 * too, but copies all that it holds for every frame and cannot be slowed down: a flood would be felt by everybody.
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

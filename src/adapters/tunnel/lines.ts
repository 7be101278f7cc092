import type { Duplex } from 'node:stream'
import { AppError } from '../../core/errors.ts'

/** Longer lines end the stream. */
const MAX_LINE_BYTES = 1024 * 1024
const NEWLINE = 10

/** Yields the lines of a stream. @throws AppError `too_large` for a line over 1 MiB. */
export async function* readLines(stream: Duplex): AsyncGenerator<string, void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk])
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      yield rest.subarray(0, end).toString('utf8')
      rest = rest.subarray(end + 1)
    }
    if (rest.length > MAX_LINE_BYTES) throw new AppError('too_large', 'The other side sent a line that is too long')
  }
}

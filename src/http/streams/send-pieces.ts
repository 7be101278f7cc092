import type { Context } from 'hono'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { BaseEnv } from '../env.ts'
import { streamText } from './stream-text.ts'

/** Disconnects clients that read nothing for this long. */
const STALLED_SECONDS = 30

/** A body of the media type `type`, in chunks that take a few milliseconds each. */
export type Pieces = { type: string; pieces: Iterator<string, void> }

/** Writes the rows of all pages as one JSON array, a page at a time. */
export function* writeJsonArray(pages: Iterable<unknown[]>): Generator<string, void> {
  let start = '['
  for (const rows of pages) {
    if (rows.length === 0) continue
    yield start + rows.map((row) => JSON.stringify(row)).join(',')
    start = ','
  }
  yield start === '[' ? '[]' : ']'
}

/** Streams generated content. `onEnd` is called once, also when the client disconnects. */
export function sendPieces<Env extends BaseEnv>(
  c: Context<Env>,
  { log }: { log: Log },
  { type, pieces }: Pieces,
  onEnd: () => void = () => {},
): Response {
  c.header('content-type', type)
  const body = streamText(pieces, (error) => {
    onEnd()
    if (error === undefined) return
    log.error({ requestId: c.var.requestId, path: c.req.path, error: errorMessage(error) }, 'an answer was cut short')
  })
  // The body of a HEAD response is not read, so its stream would never end.
  if (c.req.raw.method === 'HEAD') {
    void body.cancel()
    return c.body(null)
  }
  c.env.keepOpen?.(c.req.raw, STALLED_SECONDS)
  return c.body(body)
}

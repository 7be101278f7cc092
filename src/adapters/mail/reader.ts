import { z } from 'zod'
import { createParserPool } from '../parsers/pool.ts'

/** Converts HTML mails to text in a child process, one at a time. */
export type MailReader = {
  /**
   * Returns the text of an HTML body, cut to 200,000 characters.
   * @throws AppError `unavailable` when too many are queued, Error beyond the limits.
   */
  toText(html: string): Promise<string>
  close(): void
}

const MAX_HTML_CHARACTERS = 200_000
/** The slowest HTML of this length takes a second. */
const READ_MS = 5000
const MAX_MEMORY_BYTES = 384 * 1024 * 1024
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024
const MAX_WAITING = 100
const IDLE_MS = 10_000

export function createMailReader({ readMs = READ_MS } = {}): MailReader {
  const pool = createParserPool('mail', {
    maxProcesses: 1,
    maxWaiting: MAX_WAITING,
    maxMemoryBytes: MAX_MEMORY_BYTES,
    idleMs: IDLE_MS,
  })
  return {
    toText: (html) =>
      pool.run({
        name: 'toText',
        args: [html.slice(0, MAX_HTML_CHARACTERS)],
        result: z.string(),
        maxMs: readMs,
        maxOutputBytes: MAX_OUTPUT_BYTES,
      }),
    close: pool.close,
  }
}

import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { createParserPool } from '../parsers/pool.ts'

export type PdfReader = {
  /**
   * Returns the text page by page.
   * @throws AppError `invalid` for an unreadable PDF, `unavailable` when too many are queued.
   */
  read(bytes: Uint8Array): Promise<string>
  close(): void
}

/** Real documents take one or two seconds and less than half of the memory limit. */
const READ_MS = 15_000
const MAX_MEMORY_BYTES = 512 * 1024 * 1024
const MAX_PROCESSES = 2
/** One million characters as JSON, each of them escaped. */
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024
/** PDFs are rare, so an idle process is soon stopped to free memory. */
const IDLE_MS = 5000

/** Creates a reader that parses each PDF in a child process and kills it when it exceeds time or memory. */
export function createPdfReader({ readMs = READ_MS, maxMemoryBytes = MAX_MEMORY_BYTES } = {}): PdfReader {
  const pool = createParserPool('pdf', {
    maxProcesses: MAX_PROCESSES,
    maxWaiting: 0,
    maxMemoryBytes,
    idleMs: IDLE_MS,
  })
  return {
    async read(bytes) {
      try {
        return await pool.run({
          name: 'read',
          args: [Buffer.from(bytes).toString('base64')],
          result: z.string(),
          maxMs: readMs,
          maxOutputBytes: MAX_OUTPUT_BYTES,
        })
      } catch (cause) {
        if (cause instanceof AppError && cause.kind === 'unavailable') {
          throw new AppError('unavailable', 'Other PDFs are being read, try again in a moment', {}, { cause })
        }
        const message = 'The PDF cannot be read: it is damaged, locked or too much to read'
        throw new AppError('invalid', message, {}, { cause })
      }
    },
    close: pool.close,
  }
}

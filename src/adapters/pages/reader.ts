import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { createParserPool } from '../parsers/pool.ts'
import type { ReadPage } from './parser.ts'

/** A page as it was fetched. `url` is where it came from. */
type PageSource = { bytes: Uint8Array; contentType: string; url: string; wantsMarkdown: boolean }

/** Reads pages in child processes, one page per process at a time. */
export type PageReader = {
  /** @throws Error for an unreadable page or one beyond the limits, or the signal's reason. */
  read(source: PageSource, signal: AbortSignal): Promise<ReadPage>
  /** Returns the process ids of running parsers. */
  pids(): number[]
  close(): void
}

const MAX_PROCESSES = Math.max(1, Math.min(2, availableParallelism() - 1))
/** Each request ends after its own limit of 10 s. */
const MAX_WAITING = 1000
/** Real pages take a fraction of a second. */
const READ_MS = 4000
const MAX_MEMORY_BYTES = 384 * 1024 * 1024
/** Lists and texts of a page are limited each; together they stay far below. */
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024
/** Stops an idle process to free its memory. */
const IDLE_MS = 60_000

const Result: z.ZodType<ReadPage> = z.object({
  page: z.object({
    title: z.string(),
    description: z.string(),
    headings: z.array(z.string()),
    paragraphs: z.array(z.string()),
    wordCount: z.number(),
    links: z.array(z.object({ href: z.string(), text: z.string() })),
    images: z.array(z.object({ src: z.string(), alt: z.string() })),
    meta: z.record(z.string(), z.string()),
    lang: z.string().nullable(),
    canonical: z.string().nullable(),
    siteName: z.string().nullable(),
    publishedAt: z.string().nullable(),
  }),
  markdown: z.string().nullable(),
})

/** Kills a process that exceeds `readMs` or its memory limit. */
export function createPageReader({
  readMs = READ_MS,
  idleMs = IDLE_MS,
  maxProcesses = MAX_PROCESSES,
  maxMemoryBytes = MAX_MEMORY_BYTES,
} = {}): PageReader {
  const pool = createParserPool('pages', { maxProcesses, maxWaiting: MAX_WAITING, maxMemoryBytes, idleMs })
  return {
    read({ bytes, ...source }, signal) {
      return pool.run({
        name: 'read',
        args: [{ ...source, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') }],
        result: Result,
        maxMs: readMs,
        maxOutputBytes: MAX_OUTPUT_BYTES,
        signal,
      })
    },
    pids: pool.pids,
    close: pool.close,
  }
}

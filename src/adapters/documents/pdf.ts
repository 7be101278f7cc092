import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../core/errors.ts'

export type PdfReader = {
  /** The text of a PDF, page by page. @throws AppError `invalid` for one that cannot be read, `unavailable` while too many are. */
  read(bytes: Uint8Array): Promise<string>
}

/** Real documents take a second or two, and less than half of that memory. */
const READ_MS = 15_000
const MAX_MEMORY_BYTES = 512 * 1024 * 1024
const LOOK_MS = 50
const MAX_AT_ONCE = 2
/** The unit of `/proc/<id>/statm`. */
const PAGE_BYTES = 4096

/** This program again, which then reads one PDF and ends. */
const COMMAND = Bun.isStandaloneExecutable
  ? [process.execPath, 'agent', '--pdf']
  : [process.execPath, join(import.meta.dir, '..', '..', 'main.ts'), 'agent', '--pdf']

/**
 * Reads each PDF in a process of its own, which is ended when it takes too long or too much memory (where the system tells
 * how much that is: Linux). Whatever somebody has put into a PDF, it costs nobody but them.
 */
export function createPdfReader({ readMs = READ_MS, maxMemoryBytes = MAX_MEMORY_BYTES } = {}): PdfReader {
  let running = 0
  return {
    async read(bytes) {
      if (running >= MAX_AT_ONCE) throw new AppError('unavailable', 'Other PDFs are being read, try again in a moment')
      running += 1
      try {
        return await readInProcess(bytes, readMs, maxMemoryBytes)
      } finally {
        running -= 1
      }
    },
  }
}

async function readInProcess(bytes: Uint8Array, readMs: number, maxMemoryBytes: number): Promise<string> {
  const child = Bun.spawn(COMMAND, {
    stdin: new Blob([new Uint8Array(bytes)]),
    stdout: 'pipe',
    stderr: 'ignore',
    env: {},
    timeout: readMs,
    killSignal: 'SIGKILL',
  })
  const look = setInterval(() => {
    if (memoryOf(child.pid) > maxMemoryBytes) child.kill('SIGKILL')
  }, LOOK_MS)
  try {
    const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited])
    if (code !== 0) throw new AppError('invalid', 'The PDF cannot be read: it is damaged, locked or too much to read')
    return text
  } finally {
    clearInterval(look)
  }
}

function memoryOf(id: number): number {
  try {
    return Number(readFileSync(`/proc/${id}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES
  } catch {
    // It has ended, or the system does not tell.
    return 0
  }
}

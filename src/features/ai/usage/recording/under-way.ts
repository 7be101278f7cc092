import { open, rename, rm } from 'node:fs/promises'
import type { Timed } from './event.ts'

/**
 * The calls that are under way, in a file beside the database, one a line as the spool has them: what is found there at
 * the next start was cut short. Every call is written once at most, and short ones hardly ever.
 */
export type UnderWayFile = {
  add(events: Timed[]): Promise<void>
  /** These and no others; without any the file goes. */
  replace(events: Timed[]): Promise<void>
}

/** Lines that are made at once: ten thousand together would hold everybody up. */
const SLICE = 500

export function createUnderWayFile(file: string): UnderWayFile {
  let isThere = true
  return {
    async add(events) {
      if (events.length === 0) return
      isThere = true
      await append(file, events)
    },
    async replace(events) {
      if (events.length === 0 && !isThere) return
      isThere = events.length > 0
      if (events.length === 0) return rm(file, { force: true })
      const next = `${file}.next`
      await rm(next, { force: true })
      await append(next, events)
      await rename(next, file)
    },
  }
}

/** Outlives the process as soon as it is written; to outlive the machine as well would cost every call a sync. */
async function append(file: string, events: Timed[]): Promise<void> {
  const handle = await open(file, 'a', 0o600)
  try {
    for (let at = 0; at < events.length; at += SLICE) {
      const lines = events.slice(at, at + SLICE).map((event) => `${JSON.stringify(event)}\n`)
      await handle.appendFile(lines.join(''))
    }
  } finally {
    await handle.close()
  }
}

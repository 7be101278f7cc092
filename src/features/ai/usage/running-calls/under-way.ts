import { open, readFile, rename, rm } from 'node:fs/promises'
import { inArray } from 'drizzle-orm'
import type { Db } from '../../../../db/open.ts'
import { write } from '../../../../db/write.ts'
import type { Timed } from '../rows/event.ts'
import { usageUnderWay } from '../tables.ts'

/** The running calls. Those that are found at the next start were cut off by a crash. */
export type UnderWayCalls = {
  add(events: Timed[]): Promise<void>
  /** Replaces all calls. */
  replace(events: Timed[]): Promise<void>
  /** Returns one JSON text per call. */
  read(): Promise<string[]>
}

/** Lines per write: ten thousand at once would block the event loop. */
const SLICE = 500

/** Keeps the running calls in a file, which is deleted when there are none. */
export function createUnderWayFile(file: string): UnderWayCalls {
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
    read: async () => toLines(await readIfThere(file)),
  }
}

/** Survives a crash of the process but not of the machine, which would take an fsync per call. */
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

/** Keeps the running calls in rows, so that another node of the cluster records those of a lost leader. */
export function createUnderWayRows(db: Db): UnderWayCalls {
  const insert = (events: Timed[], obsolete: string[]) =>
    write(db, (tx) => {
      for (let at = 0; at < obsolete.length; at += SLICE)
        tx.delete(usageUnderWay)
          .where(inArray(usageUnderWay.generationId, obsolete.slice(at, at + SLICE)))
          .run()
      for (const event of events) {
        const row = { generationId: event.generationId, event: JSON.stringify(event) }
        tx.insert(usageUnderWay).values(row).onConflictDoNothing().run()
      }
    })
  return {
    async add(events) {
      if (events.length > 0) await insert(events, [])
    },
    async replace(events) {
      const wanted = new Set(events.map(({ generationId }) => generationId))
      const known = db.select({ id: usageUnderWay.generationId }).from(usageUnderWay).all()
      const obsolete = known.map(({ id }) => id).filter((id) => !wanted.has(id))
      if (events.length + obsolete.length > 0) await insert(events, obsolete)
    },
    read: async () =>
      db
        .select({ event: usageUnderWay.event })
        .from(usageUnderWay)
        .all()
        .map(({ event }) => event),
  }
}

/** Returns the lines of a file; empty for a missing one. */
export async function readIfThere(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error) => {
    ignoreMissing(error)
    return ''
  })
}

export function toLines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

export function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
}

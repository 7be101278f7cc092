import { and, eq } from 'drizzle-orm'
import { addDays, type Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { requestBodies, usageLogs } from '../usage/tables.ts'
import type { RequestDetail } from './schemas.ts'

/** Days that bodies are kept. */
export const BODY_DAYS = 7
const GATHER_MS = 250
/** Characters that may wait; further bodies are dropped and logged. */
const MAX_WAITING = 64 * 1024 * 1024

/** The bodies of a call as received and sent. `answer` is null when there is none. */
type CallBodies = { generationId: string; userId: string; request: string; answer: string | null }

export type BodyLog = {
  /** Returns at once and never throws, so that logging cannot delay or fail an answer. */
  add(bodies: CallBodies): void
  /** Waits until all bodies are written. */
  flush(): Promise<void>
}

/** Stores bodies of calls, redacted and shortened by `toStoredBody`, after their answers. Bodies that cannot be written are lost. */
export function createBodyLog(
  { db, clock, log }: { db: Db; clock: Clock; log: Log },
  toStoredBody: (body: string) => string,
): BodyLog {
  const waiting: CallBodies[] = []
  let size = 0
  let dropped = 0
  let timer: Timer | undefined
  let writing: Promise<void> = Promise.resolve()

  const store = async ({ generationId, userId, request, answer }: CallBodies) => {
    const bodies = { request: toStoredBody(request), answer: answer === null ? null : toStoredBody(answer) }
    const row = { generationId, userId, ...bodies, createdAt: clock.now() }
    await write(db, (tx) => tx.insert(requestBodies).values(row).onConflictDoNothing().run())
  }
  const writeWaiting = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      size -= sizeOf(next)
      await store(next).catch((error) => log.error(`Cannot store the bodies of a request: ${errorMessage(error)}`))
    }
    if (dropped > 0) log.warn(`Dropped the bodies of ${dropped} requests: too many were waiting`)
    dropped = 0
  }
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(writeWaiting)
    return writing
  }

  return {
    add(bodies) {
      if (size + sizeOf(bodies) > MAX_WAITING) {
        dropped += 1
        return
      }
      waiting.push(bodies)
      size += sizeOf(bodies)
      timer ??= setTimeout(flush, GATHER_MS)
    },
    flush,
  }
}

function sizeOf({ request, answer }: CallBodies): number {
  return request.length + (answer?.length ?? 0)
}

/** Returns the stored bodies of a user's request, or null. */
export function findBodies(db: Db, userId: string, generationId: string): RequestDetail['bodies'] {
  const row = db.select().from(requestBodies).where(isOf(userId, generationId)).get()
  if (!row) return null
  return { request: row.request, answer: row.answer, expiresAt: addDays(row.createdAt, BODY_DAYS).toISOString() }
}

/**
 * Deletes the stored bodies of a user's request.
 * @returns 1, or 0 when none were stored.
 * @throws AppError `not_found` for an unknown request and for another user's.
 */
export async function deleteBodies(db: Db, userId: string, generationId: string): Promise<number> {
  const isOwn = and(eq(usageLogs.generationId, generationId), eq(usageLogs.userId, userId))
  const known = db.select({ id: usageLogs.id }).from(usageLogs).where(isOwn).get()
  if (!known) throw new AppError('not_found', 'Request not found')
  const { changes } = await write(db, (tx) => tx.delete(requestBodies).where(isOf(userId, generationId)).run())
  return changes
}

/** Deletes all stored bodies of a user. @returns the number of requests. */
export function deleteAllBodies(db: Db, userId: string): Promise<number> {
  return deleteInBatches(db, requestBodies, eq(requestBodies.userId, userId))
}

function isOf(userId: string, generationId: string) {
  return and(eq(requestBodies.generationId, generationId), eq(requestBodies.userId, userId))
}

import { and, eq } from 'drizzle-orm'
import { addDays, type Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/errors.ts'
import { sha256 } from '../../../../core/secrets.ts'
import type { Tx } from '../../../../db/open.ts'
import { chatTurns, type TurnRow } from '../tables.ts'

/**
 * An idempotent request. `key` is the caller's name for it, `hash` identifies its content. `unlessAnswered` starts a
 * new turn if the earlier one was stopped or failed, for retried jobs.
 */
export type IdempotencyKey = { key: string; hash: string; unlessAnswered: boolean }

const KEY = /^[\x21-\x7e]{1,255}$/
const DAYS_KEPT = 1

/** Parses an `Idempotency-Key` header. @throws AppError `invalid` for a malformed one. */
export function readOnce(header: string | undefined, asked: object): IdempotencyKey | undefined {
  if (header === undefined) return undefined
  if (!KEY.test(header)) throw new AppError('invalid', 'Idempotency-Key must be 1 to 255 visible ASCII characters')
  return { key: `http:${sha256(header)}`, hash: sha256(JSON.stringify(asked)), unlessAnswered: false }
}

/** Returns the idempotency key of a background job, for example of a swarm. */
export function onceOf(key: string): IdempotencyKey {
  return { key, hash: '', unlessAnswered: true }
}

/**
 * Returns the turn of an earlier request with the same key. A turn that is too old or must be repeated releases the
 * key.
 * @throws AppError `conflict` IDEMPOTENCY_MISMATCH when the key belongs to another request.
 */
export function findMade(
  clock: Clock,
  tx: Tx,
  userId: string,
  { key, hash, unlessAnswered }: IdempotencyKey,
): TurnRow | null {
  const isThis = and(eq(chatTurns.userId, userId), eq(chatTurns.requestKey, key))
  const made = tx.select().from(chatTurns).where(isThis).get()
  if (!made) return null
  const isOver = made.state === 'stopped' || made.state === 'failed'
  const isOld = made.state !== 'running' && addDays(made.createdAt, DAYS_KEPT) <= clock.now()
  if (isOld || (unlessAnswered && isOver)) {
    tx.update(chatTurns).set({ requestKey: null }).where(eq(chatTurns.id, made.id)).run()
    return null
  }
  if (made.requestHash === hash) return made
  throw new AppError('conflict', 'Idempotency-Key was used for another request', { code: 'IDEMPOTENCY_MISMATCH' })
}

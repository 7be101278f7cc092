import { and, eq } from 'drizzle-orm'
import { addDays, type Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/errors.ts'
import { sha256 } from '../../../../core/secrets.ts'
import type { Tx } from '../../../../db/open.ts'
import { chatTurns, type TurnRow } from '../tables.ts'

/**
 * A request that is one turn however often it is made. `key` is the caller's name for it, `hash` what was asked.
 * `unlessAnswered` makes a new turn in place of one that was stopped or failed, as work does that is taken up again.
 */
export type Once = { key: string; hash: string; unlessAnswered: boolean }

const KEY = /^[\x21-\x7e]{1,255}$/
const DAYS_KEPT = 1

/** Of an `Idempotency-Key` (decisions, 22). @throws AppError `invalid` for one that cannot be one. */
export function readOnce(header: string | undefined, asked: object): Once | undefined {
  if (header === undefined) return undefined
  if (!KEY.test(header)) throw new AppError('invalid', 'Idempotency-Key must be 1 to 255 visible ASCII characters')
  return { key: `http:${sha256(header)}`, hash: sha256(JSON.stringify(asked)), unlessAnswered: false }
}

/** Of work in the background, such as a question of a swarm. */
export function onceOf(key: string): Once {
  return { key, hash: '', unlessAnswered: true }
}

/**
 * The turn that the same request made before. One that is too old, or that is to be made anew, gives its key free.
 * @throws AppError `conflict` IDEMPOTENCY_MISMATCH when the key was used for another request.
 */
export function findMade(clock: Clock, tx: Tx, userId: string, { key, hash, unlessAnswered }: Once): TurnRow | null {
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

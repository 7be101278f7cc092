import { and, eq, gt, isNull, lte } from 'drizzle-orm'
import type { Context, Next } from 'hono'
import { createMiddleware } from 'hono/factory'
import { addDays, type Clock } from '../core/clock.ts'
import { orLate } from '../core/concurrency/race.ts'
import { AppError } from '../core/errors.ts'
import { type Sealer, type SealPurpose, sha256 } from '../core/secrets.ts'
import { deleteInBatches } from '../db/in-batches.ts'
import type { Db, Tx } from '../db/open.ts'
import { write } from '../db/write.ts'
import { receiveText } from './bodies/body.ts'
import type { BackendEnv, Once, OnceEnv, PayerEnv, WebEnv } from './env.ts'
import { idempotencyKeys } from './tables.ts'

type IdempotencyDeps = { db: Db; clock: Clock; sealer: Sealer; waitMs?: number }
export type Idempotency = ReturnType<typeof createIdempotency>

const KEY = /^[\x21-\x7e]{1,255}$/
const DAYS_KEPT = 1
/** Longer than provisioning takes to respond. */
const WAIT_MS = 25_000
/** Responses that ask for a retry are not stored; a retry continues with what was created. */
const NOT_KEPT = new Set([429, 503, 504])
/**
 * For paid requests, also demands for payment, pending settlements, refunded failures and server errors: storing them
 * would keep the payer from the paid result.
 */
const NOT_KEPT_OF_PAID = new Set([...NOT_KEPT, 402, 409, 500, 502])
/** Without an account the key alone identifies the response, so it must not be guessable. */
const STRANGERS_KEY = /^.{16,}$/

type Row = typeof idempotencyKeys.$inferSelect
type Answered = Row & { status: number; answer: string }
type Request = { id: string; requestHash: string }
/** `more` is part of the request besides its body. */
type Asked = { caller: string; begin: (once: Once) => void; notKept?: ReadonlySet<number>; more?: string | undefined }

/**
 * Implements `Idempotency-Key`: repeats the first response to a caller's key for a day, for the same request only; a
 * concurrent request waits for the first. Runs after guard and validation. The handler records what it creates with
 * `c.var.once`, so a retry after a crash continues from there.
 * @throws AppError `invalid` for a malformed key; `conflict` for another body, and for a first request that takes too
 * long (with `Retry-After`).
 */
export function createIdempotency(deps: IdempotencyDeps) {
  const underWay = new Map<string, Promise<void>>()

  /** Returns the stored response, or waits for the concurrent request and takes its turn. */
  const findAnswerOrTurn = async (request: Request): Promise<Answered | (() => void)> => {
    const deadline = performance.now() + (deps.waitMs ?? WAIT_MS)
    for (;;) {
      const row = findRow(deps.db, request.id, deps.clock.now())
      requireSame(row, request)
      if (isAnswered(row)) return row
      const earlier = underWay.get(request.id)
      if (!earlier) break
      await settleUntil(earlier, deadline)
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    underWay.set(request.id, promise)
    return () => {
      underWay.delete(request.id)
      resolve()
    }
  }

  const answerOnce = async (
    c: Context,
    next: Next,
    { caller, begin, notKept = NOT_KEPT, more = '' }: Asked,
  ): Promise<Response | undefined> => {
    const key = c.req.header('idempotency-key')
    if (key === undefined) {
      begin({ made: null, note: () => undefined })
      await next()
      return undefined
    }
    if (!KEY.test(key)) throw new AppError('invalid', 'Idempotency-Key must be 1 to 255 visible ASCII characters')
    const requestHash = sha256(`${c.req.method} ${c.req.path}${more}\n${await receiveText(c)}`)
    const request = { id: sha256(`${caller} ${key}`), requestHash }
    const endTurn = await findAnswerOrTurn(request)
    if (typeof endTurn !== 'function') return replay(deps.sealer, c, endTurn)
    try {
      const cutShort = await write(deps.db, (tx) => claim(tx, request, deps.clock.now()))
      begin({ made: cutShort?.reference ?? null, note: (tx, reference) => note(tx, request.id, reference) })
      await next()
      await keep(deps, request.id, c.res, notKept)
      return undefined
    } finally {
      endTurn()
    }
  }

  return {
    forUser: createMiddleware<WebEnv & OnceEnv>((c, next) =>
      answerOnce(c, next, { caller: c.var.user.id, begin: (once) => c.set('once', once) }),
    ),
    forPrincipal: createMiddleware<BackendEnv & OnceEnv>((c, next) => {
      const { principal } = c.var
      const caller = principal.kind === 'user' ? principal.user.id : 'operator'
      return answerOnce(c, next, { caller, begin: (once) => c.set('once', once) })
    }),
    /** For public paid requests. @throws AppError `invalid` for a short key without an account. */
    forPayer: createMiddleware<WebEnv & OnceEnv & PayerEnv>((c, next) => {
      const { payer } = c.var
      const key = c.req.header('idempotency-key')
      if (payer === null && key !== undefined && !STRANGERS_KEY.test(key)) {
        throw new AppError('invalid', 'Without an account an Idempotency-Key has at least 16 characters')
      }
      const begin = (once: Once) => c.set('once', once)
      const more = c.req.header('x-plugin-id')
      return answerOnce(c, next, { caller: payer?.id ?? 'anybody', begin, notKept: NOT_KEPT_OF_PAID, more })
    }),
    /** Deletes responses older than a day. */
    async deleteExpired(signal: AbortSignal): Promise<void> {
      await deleteInBatches(deps.db, idempotencyKeys, lte(idempotencyKeys.expiresAt, deps.clock.now()), signal)
    },
  }
}

function findRow(db: Db, id: string, now: Date): Row | undefined {
  const isThis = and(eq(idempotencyKeys.id, id), gt(idempotencyKeys.expiresAt, now))
  return db.select().from(idempotencyKeys).where(isThis).get()
}

function requireSame(row: Row | undefined, { requestHash }: Request): void {
  if (!row || row.requestHash === requestHash) return
  throw new AppError('conflict', 'Idempotency-Key was used for another request', { code: 'IDEMPOTENCY_MISMATCH' })
}

async function settleUntil(earlier: Promise<void>, deadline: number): Promise<void> {
  const outcome = await orLate(earlier, Math.max(0, deadline - performance.now()), 'late')
  if (outcome !== 'late') return
  throw new AppError('conflict', 'The first request with this Idempotency-Key is still under way', {
    code: 'IDEMPOTENCY_IN_PROGRESS',
    retryAfter: '5',
  })
}

/** Claims the key for the request. @returns the row that a crash left, or null. */
function claim(tx: Tx, request: Request, now: Date): Row | null {
  tx.delete(idempotencyKeys)
    .where(and(eq(idempotencyKeys.id, request.id), lte(idempotencyKeys.expiresAt, now)))
    .run()
  const expiresAt = addDays(now, DAYS_KEPT)
  const { changes } = tx
    .insert(idempotencyKeys)
    .values({ ...request, expiresAt })
    .onConflictDoNothing()
    .run()
  const row = findRow(tx, request.id, now)
  requireSame(row, request)
  return changes === 1 || !row ? null : row
}

function note(tx: Tx, id: string, reference: string): void {
  tx.update(idempotencyKeys).set({ reference }).where(eq(idempotencyKeys.id, id)).run()
}

function isAnswered(row: Row | undefined): row is Answered {
  return row !== undefined && row.status !== null && row.answer !== null
}

function replay(sealer: Sealer, c: Context, { id, status, answer }: Answered): Response {
  const headers = new Headers(c.res.headers)
  headers.set('content-type', 'application/json')
  headers.set('idempotency-replayed', 'true')
  return new Response(sealer.unseal(answer, purposeOf(id)), { status, headers })
}

async function keep(
  deps: IdempotencyDeps,
  id: string,
  response: Response,
  notKept: ReadonlySet<number>,
): Promise<void> {
  const isThis = eq(idempotencyKeys.id, id)
  if (notKept.has(response.status)) {
    const hasMadeNothing = and(isThis, isNull(idempotencyKeys.reference))
    await write(deps.db, (tx) => tx.delete(idempotencyKeys).where(hasMadeNothing).run())
    return
  }
  const answer = deps.sealer.seal(await response.clone().text(), purposeOf(id))
  await write(deps.db, (tx) => tx.update(idempotencyKeys).set({ status: response.status, answer }).where(isThis).run())
}

function purposeOf(id: string): SealPurpose {
  return `idempotency_keys:answer:${id}`
}

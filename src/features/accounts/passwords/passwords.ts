import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { forgetFailures, returnAttempt, type Throttle, takeAttempt } from '../lockout/throttle.ts'
import { sessions, type UserRow } from '../users/tables.ts'
import text from './common-passwords.txt' with { type: 'text' }

/** The cost of one argon2id hash: `memoryCost` in KiB, `timeCost` in passes. */
export type PasswordCost = Readonly<{ memoryCost: number; timeCost: number }>

/** OWASP's minimum for argon2id: 19 MiB, two passes, about 20 ms. Not configurable. */
export const PASSWORD_COST: PasswordCost = { memoryCost: 19_456, timeCost: 2 }
const MAX_WAITING = 32

export type Passwords = {
  hash(password: string): Promise<string>
  /** Takes the same time whether or not a hash is given and valid. */
  verify(password: string, hash: string | null): Promise<boolean>
  /** Returns whether the hash uses outdated parameters. */
  isOutdated(hash: string): boolean
  /**
   * Runs `work`, which hashes, unless the queue is full, so a flood of sign-ins does not reach the database.
   * @throws AppError `limited`, or what `work` throws.
   */
  admit<T>(work: () => Promise<T>): Promise<T>
  /** Rejects before a body is read or a rate counted. @throws AppError `limited` when the waiting line is full. */
  requireHashingCapacity(): void
  /** Number of hash operations, for tests of equal cost. */
  readonly calls: number
}

/**
 * Runs at most `parallel` argon2id operations at once, so sign-ins cannot starve the process. Production passes
 * `PASSWORD_COST`.
 * @throws AppError `limited` when the queue is full.
 */
export function createPasswords(parallel: number, cost: PasswordCost): Passwords {
  const prefix = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=1$`
  const nobodysHash = toNobodysHash(prefix)
  const waiting: (() => void)[] = []
  let admitted = 0
  let busy = 0
  let calls = 0

  const requireHashingCapacity = () => {
    if (admitted >= parallel + MAX_WAITING) throw tooMany()
  }

  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (busy < parallel) busy++
    else {
      if (waiting.length >= MAX_WAITING) throw tooMany()
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
    calls++
    try {
      return await work()
    } finally {
      // Hand the slot directly to the next waiter, so no new caller takes it in between.
      const next = waiting.shift()
      if (next) next()
      else busy--
    }
  }

  return {
    hash: (password) => inTurn(() => Bun.password.hash(password, { algorithm: 'argon2id', ...cost })),
    verify: (password, hash) =>
      inTurn(async () => (await isMatch(password, hash ?? nobodysHash, nobodysHash)) && hash !== null),
    isOutdated: (hash) => !hash.startsWith(prefix),
    requireHashingCapacity,
    async admit(work) {
      requireHashingCapacity()
      admitted++
      try {
        return await work()
      } finally {
        admitted--
      }
    },
    get calls() {
      return calls
    },
  }
}

/** Returns a hash with the given parameters that matches no known password. */
function toNobodysHash(prefix: string): string {
  return `${prefix}${'N'.repeat(42)}A$${'Q'.repeat(42)}A`
}

function tooMany(): AppError {
  return new AppError('limited', 'Too many requests', { retryAfter: '1' })
}

/** An unreadable stored hash matches nothing instead of failing the request. */
async function isMatch(password: string, hash: string, nobodysHash: string): Promise<boolean> {
  try {
    return await Bun.password.verify(password, hash)
  } catch {
    await Bun.password.verify(password, nobodysHash)
    return false
  }
}

let common: Set<string> | undefined

/** Rejects the 10,000 most common passwords of at least 8 characters in any case. @throws AppError `invalid`. */
export function requireUncommon(password: string): void {
  common ??= new Set(listCommonPasswords())
  if (common.has(password.normalize('NFKC').toLowerCase())) throw new AppError('invalid', 'Password is too common')
}

/**
 * Returns them in lower case, most common first. The file starts with its licence, which ends at the first empty line.
 */
export function listCommonPasswords(): string[] {
  return text
    .slice(text.indexOf('\n\n') + 2)
    .trimEnd()
    .split('\n')
}

/** Proof of ownership; `sessionToken` is undefined for API keys. */
type Confirmation = { password: string | undefined; sessionToken: string | undefined }

/**
 * Requires the password again before sensitive actions, except for accounts without one. Each session has its own ten
 * attempts, so a stolen session cannot block the owner's.
 * @throws AppError `invalid` without `password`, `unauthenticated` for a wrong one, `limited` after ten of those.
 */
export async function confirmPassword(
  deps: Base & { passwords: Passwords },
  user: Pick<UserRow, 'id' | 'passwordHash'>,
  { password, sessionToken }: Confirmation,
): Promise<void> {
  if (user.passwordHash === null) return
  if (!password) throw new AppError('invalid', 'Password required')
  const throttle = ownThrottle(deps.db, 'confirm', user.id, sessionToken)
  await takeAttempt(deps, throttle)
  const isRight = await deps.passwords.verify(password, user.passwordHash).catch(async (error) => {
    await write(deps.db, (tx) => returnAttempt(tx, throttle))
    throw error
  })
  if (!isRight) throw new AppError('unauthenticated', 'Current password is incorrect')
  await write(deps.db, (tx) => forgetFailures(tx, throttle.key))
}

/** Ten attempts per session and quarter of an hour; all API keys of the account share one counter. */
export function ownThrottle(db: Db, what: string, userId: string, sessionToken: string | undefined): Throttle {
  const tokenHash = sha256(sessionToken ?? '')
  const isTheirs = and(eq(sessions.tokenHash, tokenHash), eq(sessions.userId, userId))
  const session = db.select({ tokenHash: sessions.tokenHash }).from(sessions).where(isTheirs).get()
  const who = session ? tokenHash : 'keys'
  return { key: `${what}:account:${userId}:${who}`, limit: 10, windowMs: 15 * 60_000 }
}

import { eq } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { sha256 } from '../../core/secrets.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import { addressKey } from '../../http/address.ts'
import type { Passwords } from './passwords.ts'
import type { LoginRequest } from './schemas.ts'
import { type UserRow, users } from './tables.ts'
import { forgetFailures, returnAttempt, type Throttle, takeAttempt } from './throttle.ts'
import { redeemSecondFactor, type TwoFactorDeps } from './two-factor.ts'

export type LoginDeps = TwoFactorDeps & { db: Db; clock: Clock; passwords: Passwords }

const WINDOW_MS = 15 * 60_000
const FAILURES_PER_ACCOUNT = 10
const FAILURES_PER_ADDRESS = 50

/**
 * Checks the password, and the second factor of accounts that have one. Unknown, closed and password-less accounts and
 * wrong passwords cost the same work and get the same answer. `address` is the caller's.
 * @throws AppError `unauthenticated`, with code `TWO_FACTOR_REQUIRED` or `TWO_FACTOR_INVALID` after the right password;
 * `limited` after ten failures of an account, or fifty of an address, in a quarter of an hour.
 */
export function login(deps: LoginDeps, request: LoginRequest, address: string | null): Promise<UserRow> {
  return deps.passwords.admit(() => loginAdmitted(deps, request, address))
}

async function loginAdmitted(deps: LoginDeps, request: LoginRequest, address: string | null): Promise<UserRow> {
  const [account, caller] = throttlesOf(request.email, address)
  await takeAttempt(deps, account, caller)
  const giveBack = () => write(deps.db, (tx) => returnAttempt(tx, account, caller))

  const user = deps.db.select().from(users).where(eq(users.email, request.email)).get()
  const isRight = await deps.passwords.verify(request.password, user?.passwordHash ?? null).catch(async (error) => {
    await giveBack()
    throw error
  })
  if (!user || !isRight || user.disabledAt) throw new AppError('unauthenticated', 'Invalid email or password')
  if (user.twoFactorEnabledAt) {
    if (!request.code) {
      await giveBack()
      throw new AppError('unauthenticated', 'Two-factor code required', { code: 'TWO_FACTOR_REQUIRED' })
    }
    if (!(await redeemSecondFactor(deps, user, request.code, address))) {
      throw new AppError('unauthenticated', 'Invalid two-factor code', { code: 'TWO_FACTOR_INVALID' })
    }
  }

  const newHash = await hashAnew(deps.passwords, user, request.password)
  return write(deps.db, (tx) => {
    forgetFailures(tx, account.key)
    returnAttempt(tx, caller)
    return newHash ? replaceHash(tx, user, newHash) : user
  })
}

/** Lets an account sign in at once after failures: for whoever has proved by mail to be its owner. */
export function forgetFailedLogins(tx: Tx, email: string): void {
  forgetFailures(tx, accountKey(email))
}

function accountKey(email: string): string {
  return `login:account:${sha256(email)}`
}

/** Unknown accounts are counted as well: who is told to wait learns nothing. */
function throttlesOf(email: string, address: string | null): [account: Throttle, caller: Throttle] {
  return [
    { key: accountKey(email), limit: FAILURES_PER_ACCOUNT, windowMs: WINDOW_MS },
    { key: `login:address:${addressKey(address)}`, limit: FAILURES_PER_ADDRESS, windowMs: WINDOW_MS },
  ]
}

/** Parameters grow with the years; the password is known only now. A busy hasher puts it off to the next sign-in. */
async function hashAnew(passwords: Passwords, user: UserRow, password: string): Promise<string | null> {
  if (user.passwordHash === null || !passwords.isOutdated(user.passwordHash)) return null
  return passwords.hash(password).catch(() => null)
}

/** Only as long as the password is still the one that was checked; otherwise the row is returned as it was. */
function replaceHash(tx: Tx, user: UserRow, passwordHash: string): UserRow {
  const current = tx.select({ hash: users.passwordHash }).from(users).where(eq(users.id, user.id)).get()
  if (current?.hash !== user.passwordHash) return user
  tx.update(users).set({ passwordHash }).where(eq(users.id, user.id)).run()
  return { ...user, passwordHash }
}

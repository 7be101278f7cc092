import { eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { currentRequestId } from '../../../core/request-id.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import type { KnownDevices, Visitor } from '../lockout/known-devices.ts'
import {
  countLoginAttempt,
  passwordAttempt,
  returnLoginAttempt,
  settleLoginAttempt,
} from '../lockout/login-attempts.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { requireSecondFactor } from '../two-factor/two-factor.ts'
import { type UserRow, users } from '../users/tables.ts'
import type { LoginRequest } from './schemas.ts'

/**
 * Checks the password, and the second factor if the account has one. Unknown, disabled and password-less accounts and
 * wrong passwords take the same time and get the same error.
 * @throws AppError `unauthenticated`, after the right password with code `TWO_FACTOR_REQUIRED` or `TWO_FACTOR_INVALID`;
 * `limited` after ten failures per account and address or known device in 15 minutes, fifty per address in 15 minutes,
 * or fifty per account and hour from unknown devices.
 */
export async function login(
  deps: Base & { passwords: Passwords; knownDevices: KnownDevices },
  request: LoginRequest,
  visitor: Visitor,
): Promise<UserRow> {
  try {
    return await deps.passwords.admit(() => loginAdmitted(deps, request, visitor))
  } catch (error) {
    // The e-mail field is not logged: people type passwords into the wrong field.
    if (error instanceof AppError && error.kind === 'unauthenticated')
      deps.log.info(
        { requestId: currentRequestId(), address: visitor.address, reason: error.message },
        'sign-in refused',
      )
    throw error
  }
}

async function loginAdmitted(
  deps: Base & { passwords: Passwords; knownDevices: KnownDevices },
  request: LoginRequest,
  visitor: Visitor,
): Promise<UserRow> {
  const user = deps.db.select().from(users).where(eq(users.email, request.email)).get()
  const device = user ? deps.knownDevices.find(visitor.markOf(user.id), user) : null
  const taken = await countLoginAttempt(deps, passwordAttempt(request.email, visitor.address, device))
  const isRight = await deps.passwords.verify(request.password, user?.passwordHash ?? null).catch(async (error) => {
    await write(deps.db, (tx) => returnLoginAttempt(tx, taken))
    throw error
  })
  if (!user || !isRight || user.disabledAt) throw new AppError('unauthenticated', 'Invalid email or password')
  if (user.twoFactorEnabledAt) {
    await write(deps.db, (tx) => settleLoginAttempt(tx, taken))
    if (!request.code)
      throw new AppError('unauthenticated', 'Two-factor code required', { code: 'TWO_FACTOR_REQUIRED' })
    await requireSecondFactor(deps, user, request.code, visitor)
  }

  const newHash = await hashAnew(deps.passwords, user, request.password)
  if (user.twoFactorEnabledAt && !newHash) return user
  return write(deps.db, (tx) => {
    if (!user.twoFactorEnabledAt) settleLoginAttempt(tx, taken)
    return newHash ? replaceHash(tx, user, newHash) : user
  })
}

/** Upgrades an outdated hash while the password is known. When the hasher is busy, the next sign-in does it. */
async function hashAnew(passwords: Passwords, user: UserRow, password: string): Promise<string | null> {
  if (user.passwordHash === null || !passwords.isOutdated(user.passwordHash)) return null
  return passwords.hash(password).catch(() => null)
}

/** Replaces the hash only if the password has not changed since it was checked. */
function replaceHash(tx: Tx, user: UserRow, passwordHash: string): UserRow {
  const current = tx.select({ hash: users.passwordHash }).from(users).where(eq(users.id, user.id)).get()
  if (current?.hash !== user.passwordHash) return user
  tx.update(users).set({ passwordHash }).where(eq(users.id, user.id)).run()
  return { ...user, passwordHash }
}

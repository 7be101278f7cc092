import { and, eq, isNull, lt } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { SealPurpose } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { recordAudit } from '../audit/audit.ts'
import type { KnownDevices, Visitor } from '../lockout/known-devices.ts'
import { codeAttempt, countLoginAttempt, settleLoginAttempt } from '../lockout/login-attempts.ts'
import { forgetFailures, takeAttempt } from '../lockout/throttle.ts'
import { confirmPassword, ownThrottle, type Passwords } from '../passwords/passwords.ts'
import { requireRecentSignIn } from '../sessions/sessions.ts'
import { type UserRow, users } from '../users/tables.ts'
import {
  countRecoveryCodes,
  createRecoveryCodes,
  createTotpSecret,
  findTotpStep,
  redeemRecoveryCode,
  replaceRecoveryCodes,
  totpUri,
} from './codes.ts'
import type { TwoFactorDisableRequest, TwoFactorSetup, TwoFactorSetupRequest, TwoFactorStatus } from './schemas.ts'
/** The user who changes the settings, their session, and their address. */
export type Actor = { userId: string; sessionToken?: string | undefined; address: string | null }

/** @throws AppError `not_found`. */
export function getTwoFactor(db: Db, userId: string): TwoFactorStatus {
  const user = getUser(db, userId)
  return { enabled: user.twoFactorEnabledAt !== null, recoveryCodesLeft: countRecoveryCodes(db, userId) }
}

/**
 * Creates a secret for the authenticator, active once `enableTwoFactor` gets a code of it; a second setup replaces it.
 * @throws AppError as `confirmPassword`, or as `requireRecentSignIn` without a password; `conflict` when two-factor
 * sign-in is on.
 */
export async function setUpTwoFactor(
  deps: Base & { passwords: Passwords },
  { userId, sessionToken }: { userId: string; sessionToken: string | undefined },
  request: TwoFactorSetupRequest,
): Promise<TwoFactorSetup> {
  const user = getUser(deps.db, userId)
  if (user.passwordHash === null) requireRecentSignIn(deps, userId, sessionToken)
  await confirmPassword(deps, user, { password: request.password, sessionToken })
  const secret = createTotpSecret()
  const sealed = deps.sealer.seal(secret, purposeOf(userId))
  const { changes } = await write(deps.db, (tx) =>
    tx
      .update(users)
      .set({ twoFactorSecret: sealed, twoFactorStep: 0, updatedAt: deps.clock.now() })
      .where(and(eq(users.id, userId), isNull(users.twoFactorEnabledAt)))
      .run(),
  )
  if (changes === 0) throw alreadyOn()
  return { secret, uri: totpUri(secret, user.email) }
}

/**
 * Turns two-factor sign-in on with a code of the new secret.
 * @returns the recovery codes, which are not stored in plain text.
 * @throws AppError `invalid` for a wrong code or without a setup, `conflict` when it is on, `limited`.
 */
export async function enableTwoFactor(deps: Base, actor: Actor, code: string): Promise<string[]> {
  const user = getUser(deps.db, actor.userId)
  if (user.twoFactorEnabledAt) throw alreadyOn()
  if (!user.twoFactorSecret) throw new AppError('invalid', 'Set up two-factor sign-in first')
  await requireRight(deps, actor, async () => redeemTotpCode(deps, user, code))
  const codes = createRecoveryCodes()
  await write(deps.db, (tx) => {
    const now = deps.clock.now()
    const { changes } = tx
      .update(users)
      .set({ twoFactorEnabledAt: now, updatedAt: now })
      .where(and(eq(users.id, user.id), isNull(users.twoFactorEnabledAt), isSameSecretAs(user)))
      .run()
    if (changes === 0) throw alreadyOn()
    replaceRecoveryCodes(tx, user.id, codes)
    audit(tx, actor, 'two-factor.enable', now)
  })
  return codes
}

/**
 * Turns two-factor sign-in off and deletes secret and recovery codes. `code` is of the authenticator or a recovery
 * code.
 * @throws AppError as `confirmPassword`; `invalid` for a wrong code, `conflict` when it is off, `limited`.
 */
export async function disableTwoFactor(
  deps: Base & { passwords: Passwords },
  actor: Actor,
  request: TwoFactorDisableRequest,
): Promise<void> {
  const user = requireOn(getUser(deps.db, actor.userId))
  await confirmPassword(deps, user, { password: request.password, sessionToken: actor.sessionToken })
  await requireRight(deps, actor, () => redeemSecondFactor(deps, user, request.code, actor.address))
  await write(deps.db, (tx) => {
    const now = deps.clock.now()
    removeTwoFactor(tx, user.id, now)
    audit(tx, actor, 'two-factor.disable', now)
  })
}

/** Replaces the recovery codes. @throws AppError `invalid` for a wrong code, `conflict` when it is off, `limited`. */
export async function renewRecoveryCodes(deps: Base, actor: Actor, code: string): Promise<string[]> {
  const user = requireOn(getUser(deps.db, actor.userId))
  await requireRight(deps, actor, () => redeemSecondFactor(deps, user, code, actor.address))
  const codes = createRecoveryCodes()
  await write(deps.db, (tx) => {
    requireOn(getUser(tx, user.id))
    replaceRecoveryCodes(tx, user.id, codes)
    audit(tx, actor, 'two-factor.renew-recovery-codes', deps.clock.now())
  })
  return codes
}

/** Removes the second factor in the caller's transaction, without any check. */
export function removeTwoFactor(tx: Tx, userId: string, now: Date): void {
  tx.update(users)
    .set({ twoFactorSecret: null, twoFactorEnabledAt: null, updatedAt: now })
    .where(eq(users.id, userId))
    .run()
  replaceRecoveryCodes(tx, userId, [])
}

/** Uses up a six-digit code of the authenticator or a recovery code. @returns false for a wrong code. */
async function redeemSecondFactor(deps: Base, user: UserRow, code: string, address: string | null): Promise<boolean> {
  if (/^\s*\d{3}\s?\d{3}\s*$/.test(code)) return redeemTotpCode(deps, user, code.replace(/\s/g, ''))
  return write(deps.db, (tx) => {
    const isUsed = redeemRecoveryCode(tx, user.id, code)
    if (isUsed) audit(tx, { userId: user.id, address }, 'two-factor.use-recovery-code', deps.clock.now())
    return isUsed
  })
}

/** RFC 6238, 5.2: each time step is accepted once, so an observed code cannot be replayed. */
async function redeemTotpCode({ db, clock, sealer }: Base, user: UserRow, code: string): Promise<boolean> {
  if (!user.twoFactorSecret) return false
  const step = findTotpStep(sealer.unseal(user.twoFactorSecret, purposeOf(user.id)), code, clock.now())
  if (step === null) return false
  const { changes } = await write(db, (tx) =>
    tx
      .update(users)
      .set({ twoFactorStep: step })
      .where(and(eq(users.id, user.id), lt(users.twoFactorStep, step), isSameSecretAs(user)))
      .run(),
  )
  return changes === 1
}

/** @throws AppError `invalid` when `check` fails, `limited` after ten failures. */
async function requireRight(deps: Base, actor: Actor, check: () => Promise<boolean>): Promise<void> {
  const throttle = ownThrottle(deps.db, 'two-factor', actor.userId, actor.sessionToken)
  await takeAttempt(deps, throttle)
  if (!(await check())) throw new AppError('invalid', 'Invalid two-factor code')
  await write(deps.db, (tx) => forgetFailures(tx, throttle.key))
}

/** A concurrent setup replaces the secret, and then no row matches. */
function isSameSecretAs(user: UserRow) {
  return eq(users.twoFactorSecret, user.twoFactorSecret ?? '')
}

function audit(tx: Tx, { userId, address }: Omit<Actor, 'sessionToken'>, action: string, now: Date): void {
  recordAudit(tx, { actor: userId, action, target: userId, address }, now)
}

function getUser(db: Db, id: string): UserRow {
  const user = db.select().from(users).where(eq(users.id, id)).get()
  if (!user) throw new AppError('not_found', 'User not found')
  return user
}

function requireOn(user: UserRow): UserRow {
  if (!user.twoFactorEnabledAt) throw new AppError('conflict', 'Two-factor sign-in is off')
  return user
}

function alreadyOn(): AppError {
  return new AppError('conflict', 'Two-factor sign-in is already on')
}

function purposeOf(userId: string): SealPurpose {
  return `users:twoFactorSecret:${userId}`
}

/**
 * Uses up a code of the authenticator or a recovery code after the first factor succeeded.
 * @throws AppError `unauthenticated` TWO_FACTOR_INVALID for a wrong code, `limited` after ten of those per address or
 * device in 15 minutes, or thirty in a day.
 */
export async function requireSecondFactor(
  deps: Base & { knownDevices: KnownDevices },
  user: UserRow,
  code: string,
  visitor: Visitor,
): Promise<void> {
  const device = deps.knownDevices.find(visitor.markOf(user.id), user)
  const taken = await countLoginAttempt(deps, codeAttempt(user.id, visitor.address, device))
  if (!(await redeemSecondFactor(deps, user, code, visitor.address))) {
    throw new AppError('unauthenticated', 'Invalid two-factor code', { code: 'TWO_FACTOR_INVALID' })
  }
  await write(deps.db, (tx) => settleLoginAttempt(tx, taken))
}

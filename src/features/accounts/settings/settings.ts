import { and, eq, gt } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { changeEmail } from '../email-addresses/email-addresses.ts'
import { takeAttempt } from '../lockout/throttle.ts'
import { confirmPassword, type Passwords } from '../passwords/passwords.ts'
import { FRESH_SESSION_REQUIRED, hasRecentSignIn, requireRecentSignIn } from '../sessions/sessions.ts'
import { emailTokens, type UserRow, users } from '../users/tables.ts'
import { isWalletEmail } from '../users/users.ts'
import { Notifications, type PatchSettingsRequest, type UpdateSettingsRequest } from './schemas.ts'

/** An account and its pending e-mail address. */
export type AccountSettings = { user: UserRow; pendingEmail: string | null }

/** Each change mails an unverified address; ten per hour allow for typing errors. */
const EMAIL_CHANGES = { limit: 10, windowMs: 3_600_000 }

/** @throws AppError `not_found` for a deleted account. */
export function getSettings({ db, clock }: { db: Db; clock: Clock }, userId: string): AccountSettings {
  const isPending = and(
    eq(emailTokens.userId, users.id),
    eq(emailTokens.purpose, 'change-email'),
    gt(emailTokens.expiresAt, clock.now()),
  )
  const found = db
    .select({ user: users, pendingEmail: emailTokens.email })
    .from(users)
    .leftJoin(emailTokens, isPending)
    .where(eq(users.id, userId))
    .get()
  if (!found) throw new AppError('not_found', 'User not found')
  return found
}

/**
 * Changes name and e-mail in one transaction. `sessionToken` is undefined for API keys.
 * @throws AppError `invalid` for a wallet's address, `conflict` for a taken one, `unauthenticated` without the current
 * password or a recent sign-in, `limited` after ten changes of address per hour.
 */
export async function updateSettings(
  deps: Base & { mailer: Mailer; passwords: Passwords; signUp: { walletEmailDomain: string } },
  userId: string,
  request: UpdateSettingsRequest & { sessionToken: string | undefined },
): Promise<AccountSettings> {
  const { user } = getSettings(deps, userId)
  const { email } = request
  if (email !== undefined) await requireMayChangeEmail(deps, user, { ...request, email })
  await write(deps.db, (tx) => {
    if (email !== undefined) changeEmail(tx, deps, getUser(tx, userId), email)
    if (request.name) setProfile(tx, userId, { name: request.name, updatedAt: deps.clock.now() })
  })
  return getSettings(deps, userId)
}

/** Changes name, time zone and the given notification settings. @throws AppError `invalid` for too many. */
export async function patchSettings(
  deps: { db: Db; clock: Clock },
  userId: string,
  { name, notifications, timeZone }: PatchSettingsRequest,
): Promise<AccountSettings> {
  await write(deps.db, (tx) => {
    const merged = notifications && mergeNotifications(getUser(tx, userId), notifications)
    const change = { ...(name && { name }), ...(timeZone && { timeZone }), ...(merged && { notifications: merged }) }
    if (Object.keys(change).length > 0) setProfile(tx, userId, { ...change, updatedAt: deps.clock.now() })
  })
  return getSettings(deps, userId)
}

/** The current address is always accepted. */
async function requireMayChangeEmail(
  deps: Base & { passwords: Passwords; signUp: { walletEmailDomain: string } },
  user: UserRow,
  request: { email: string; currentPassword?: string | undefined; sessionToken: string | undefined },
): Promise<void> {
  if (request.email === user.email) return
  if (isWalletEmail(request.email, deps.signUp.walletEmailDomain)) throw new AppError('invalid', 'Invalid email format')
  await requireOwner(deps, user, request)
  await takeAttempt(deps, { key: `email-change:${user.id}`, ...EMAIL_CHANGES })
}

/** Requires the password or a recent sign-in, because a stolen session or key must not change the address. */
async function requireOwner(
  deps: Base & { passwords: Passwords },
  user: UserRow,
  { currentPassword, sessionToken }: { currentPassword?: string | undefined; sessionToken: string | undefined },
): Promise<void> {
  if (currentPassword !== undefined && user.passwordHash !== null)
    return confirmPassword(deps, user, { password: currentPassword, sessionToken })
  if (user.passwordHash === null) return requireRecentSignIn(deps, user.id, sessionToken)
  if (hasRecentSignIn(deps, user.id, sessionToken)) return
  throw new AppError('unauthenticated', 'Current password is incorrect', FRESH_SESSION_REQUIRED)
}

function mergeNotifications(user: UserRow, changes: Notifications): Notifications {
  const merged = Notifications.safeParse({ ...Object(user.notifications), ...changes })
  if (!merged.success) throw new AppError('invalid', merged.error.issues[0]?.message ?? 'Invalid notifications')
  return merged.data
}

function getUser(tx: Tx, userId: string): UserRow {
  const user = tx.select().from(users).where(eq(users.id, userId)).get()
  if (!user) throw new AppError('not_found', 'User not found')
  return user
}

function setProfile(tx: Tx, userId: string, change: Partial<UserRow>): void {
  tx.update(users).set(change).where(eq(users.id, userId)).run()
}

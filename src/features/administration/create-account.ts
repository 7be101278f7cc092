import { eq } from 'drizzle-orm'
import { AppError } from '../../core/errors.ts'
import { write } from '../../db/write.ts'
import { endEmailTokens } from '../accounts/email-tokens.ts'
import { forgetFailedLogins } from '../accounts/guesses.ts'
import type { Passwords } from '../accounts/passwords.ts'
import { firstRights, insertUser, requireFree, type SignUp } from '../accounts/register.ts'
import type { RegisterRequest } from '../accounts/schemas.ts'
import { endSessions } from '../accounts/sessions.ts'
import { type UserRow, users } from '../accounts/tables.ts'
import type { PlanName } from '../plans/plans.ts'
import { type AdministerDeps, type Administrator, audit } from './change-account.ts'

export type PasswordDeps = AdministerDeps & { passwords: Passwords }
type Credentials = Pick<RegisterRequest, 'email' | 'password' | 'name'>

/**
 * Creates an account for someone else; sign-up may be closed. A `plan` counts as an active subscription; without one it
 * starts as if it had signed up.
 * @throws AppError `conflict` when the address is taken.
 */
export async function createAccount(
  deps: PasswordDeps & { signUp: Pick<SignUp, 'firstUserOwnsHouse'> },
  by: Administrator,
  request: Credentials,
  plan: PlanName | null,
): Promise<UserRow> {
  const passwordHash = await deps.passwords.hash(request.password)
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    requireFree(tx, request.email)
    const account = { email: request.email, name: request.name || request.email, passwordHash }
    const first = firstRights(tx, deps.signUp)
    const user = insertUser(tx, account, { now, plan: plan ?? first.plan, isAdmin: first.isAdmin })
    audit(tx, by, { action: 'account.create', target: user.id, detail: { plan: user.plan } }, now)
    return user
  })
}

/** Sets a new password that works at once, ends all sessions and mailed links. @throws AppError `not_found`. */
export async function resetPassword(
  deps: PasswordDeps,
  by: Administrator,
  { email, password }: Credentials,
): Promise<UserRow> {
  const passwordHash = await deps.passwords.hash(password)
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const user = tx.update(users).set({ passwordHash, updatedAt: now }).where(eq(users.email, email)).returning().get()
    if (!user) throw new AppError('not_found', `No account has the address ${email}`)
    endSessions(tx, user.id)
    endEmailTokens(tx, user.id)
    forgetFailedLogins(tx, email)
    audit(tx, by, { action: 'account.reset-password', target: user.id }, now)
    return user
  })
}

import { eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { firstRights, insertUser, requireFree, type SignUp } from '../../people/accounts/register.ts'
import type { RegisterRequest } from '../../people/accounts/schemas.ts'
import { forgetFailedLogins } from '../../people/lockout/guesses.ts'
import { endEmailTokens } from '../../people/mails/email-tokens.ts'
import type { Passwords } from '../../people/passwords/passwords.ts'
import type { PlanName } from '../../people/plans/plans.ts'
import { endSessions } from '../../people/sessions/sessions.ts'
import { type UserRow, users } from '../../people/users/tables.ts'
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

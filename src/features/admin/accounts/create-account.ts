import { eq } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { forgetFailedLogins } from '../../accounts/lockout/login-attempts.ts'
import { endEmailTokens, FIRST_PASSWORD_MS, issueEmailToken } from '../../accounts/notifications/email-tokens.ts'
import { enqueueMail } from '../../accounts/notifications/send-mail.ts'
import type { Passwords } from '../../accounts/passwords/passwords.ts'
import { NO_PLAN, requirePlan } from '../../accounts/plans/plans.ts'
import { firstRights, insertUser, requireFree, type SignUp } from '../../accounts/registration/register.ts'
import type { RegisterRequest } from '../../accounts/registration/schemas.ts'
import { endSessions } from '../../accounts/sessions/sessions.ts'
import { type UserRow, users } from '../../accounts/users/tables.ts'
import { isWalletEmail } from '../../accounts/users/users.ts'
import { type Administrator, audit } from './change-account.ts'
import type { CreateUserRequest } from './schemas.ts'

type Credentials = Pick<RegisterRequest, 'email' | 'password' | 'name'>

/**
 * Creates an account for another user, also while sign-up is closed. A `plan` counts as an active subscription; without
 * one the account gets the default plan.
 * @throws AppError `conflict` when the address is taken, `invalid` for an unknown plan.
 */
export async function createAccount(
  deps: { db: Db; clock: Clock; passwords: Passwords; signUp: Pick<SignUp, 'firstUserIsAdmin' | 'defaultPlan'> },
  by: Administrator,
  request: Credentials,
  plan: string | null,
): Promise<UserRow> {
  const passwordHash = await deps.passwords.hash(request.password)
  const account = { email: request.email, name: request.name || request.email, passwordHash }
  return write(deps.db, (tx) => addAccount(tx, deps, by, account, plan))
}
/** A new account with its password link; `url` is null when the link is mailed. */
type OpenedAccount = { user: UserRow; mailed: boolean; url: string | null; expiresAt: Date }

/**
 * Creates an account without a password for another user, and a link to set the password. The link is mailed when mail
 * is configured and returned otherwise.
 * @throws AppError `conflict` when the address is taken, `invalid` for a wallet's address and an unknown plan.
 */
export async function openAccount(
  deps: {
    db: Db
    clock: Clock
    enqueue: Enqueue
    signUp: Pick<SignUp, 'firstUserIsAdmin' | 'defaultPlan' | 'walletEmailDomain'>
    mailer: Pick<Mailer, 'isConfigured'>
    appUrl: string
  },
  by: Administrator,
  { email, name, plan, sendMail }: CreateUserRequest,
): Promise<OpenedAccount> {
  if (isWalletEmail(email, deps.signUp.walletEmailDomain)) throw new AppError('invalid', 'Invalid email format')
  const mailed = sendMail && deps.mailer.isConfigured
  return write(deps.db, (tx) => {
    const user = addAccount(tx, deps, by, { email, name: name || email, passwordHash: null }, plan ?? null)
    const now = deps.clock.now()
    const expiresAt = new Date(now.getTime() + FIRST_PASSWORD_MS)
    if (mailed) {
      enqueueMail(tx, deps.enqueue, { mail: 'account-created', userId: user.id })
      return { user, mailed, url: null, expiresAt }
    }
    const token = issueEmailToken(tx, { userId: user.id, purpose: 'reset-password', email }, now, FIRST_PASSWORD_MS)
    return { user, mailed, url: `${deps.appUrl}/reset-password?token=${token}`, expiresAt }
  })
}

function addAccount(
  tx: Tx,
  { clock, signUp }: { clock: Clock; signUp: Pick<SignUp, 'firstUserIsAdmin' | 'defaultPlan'> },
  by: Administrator,
  account: Pick<UserRow, 'email' | 'name' | 'passwordHash'>,
  plan: string | null,
): UserRow {
  const now = clock.now()
  requireFree(tx, account.email)
  if (plan !== null && plan !== NO_PLAN.name) requirePlan(tx, plan)
  const user = insertUser(tx, account, { now, ...firstRights(tx, signUp, { plan }) })
  audit(tx, by, { action: 'account.create', target: user.id, detail: { plan: user.plan } }, now)
  return user
}

/** Sets a new password and ends all sessions and mailed links. @throws AppError `not_found`. */
export async function resetPassword(
  deps: { db: Db; clock: Clock; passwords: Passwords },
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

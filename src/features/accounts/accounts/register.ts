import { eq } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { enqueueVerification } from '../email-addresses/verify-email.ts'
import { findInvite, redeemInvite } from '../invites/redeem.ts'
import type { InviteRow } from '../invites/tables.ts'
import { requireUncommon } from '../passwords/common-passwords.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { NO_PLAN, PLANS } from '../plans/plans.ts'
import { newReferralCode, noteReferral } from '../referrals/referrals.ts'
import { type UserRow, users } from '../users/tables.ts'
import { isWalletEmail } from '../users/wallet-email.ts'
import type { RegisterRequest } from './schemas.ts'
import { countSignUp, type SignUpOrigin } from './sign-up-limit.ts'

export type SignUp = {
  mode: 'open' | 'invite' | 'closed'
  /** At home the machine's owner signs up first, has no plan to buy and administers (README, Decisions). */
  firstUserOwnsHouse: boolean
  /** The plan of accounts that an administrator creates or invites, and at home of all; null for none. */
  defaultPlan: string | null
  /** Addresses of wallets are not for passwords (decisions, 5). */
  walletEmailDomain: string
}
export type RegisterDeps = {
  db: Db
  clock: Clock
  passwords: Passwords
  mailer: Mailer
  enqueue: Enqueue
  signUp: SignUp
}

/**
 * Creates an account; the caller signs in afterwards. The invitation is used, and the referral noted, with it or not at all.
 * @throws AppError `forbidden` when sign-up is closed or the invitation is no good, `conflict` when the address is taken,
 * `invalid` for a wallet's address and for a password that everybody guesses; `forbidden` as `countSignUp`.
 */
export async function register(deps: RegisterDeps, request: RegisterRequest, origin: SignUpOrigin): Promise<UserRow> {
  const { email, password, inviteCode, referralCode } = request
  requireInvited(deps, inviteCode)
  if (isWalletEmail(email, deps.signUp.walletEmailDomain)) throw new AppError('invalid', 'Invalid email format')
  requireUncommon(password)
  requireFree(deps.db, email)
  const account = { email, name: request.name || email, passwordHash: await deps.passwords.hash(password) }
  const now = deps.clock.now()
  return write(deps.db, (tx) => {
    requireFree(tx, email)
    countSignUp(tx, deps, origin)
    const invite = useInvite(tx, deps.signUp, inviteCode ?? '', now)
    const user = insertUser(tx, account, { now, ...firstRights(tx, deps.signUp, invite) })
    if (referralCode) noteReferral(tx, deps, user, referralCode)
    enqueueVerification(tx, deps, user)
    return user
  })
}

/** Answers before the hasher has worked; the closure that writes decides. */
function requireInvited({ db, signUp }: Pick<RegisterDeps, 'db' | 'signUp'>, inviteCode: string | undefined): void {
  if (signUp.mode === 'closed') throw new AppError('forbidden', 'Sign-up is closed')
  if (signUp.mode === 'open') return
  if (!inviteCode) throw new AppError('forbidden', 'Invite code required')
  if (!findInvite(db, inviteCode)) throw invalidInvite()
}

/** Redeems the invitation where one is needed, or where sign-up is open and it gives a plan. @throws AppError `forbidden`. */
function useInvite(tx: Tx, { mode, defaultPlan }: SignUp, code: string, now: Date): InviteRow | null {
  const found = findInvite(tx, code)
  const isNeeded = mode === 'invite' || (found?.plan ?? defaultPlan) !== null
  const invite = found && isNeeded ? redeemInvite(tx, code, now) : null
  if (mode === 'invite' && !invite) throw invalidInvite()
  return invite
}

function invalidInvite(): AppError {
  return new AppError('forbidden', 'Invalid invite code')
}

/** Null stands for no plan. */
type FirstRights = { plan: UserRow['plan'] | null; isAdmin: boolean }

/** Adds the row; a `plan` given here counts as an active subscription. */
export function insertUser(
  tx: Tx,
  account: Pick<UserRow, 'email' | 'name' | 'passwordHash'>,
  start: Partial<FirstRights> & { now: Date },
): UserRow {
  return tx
    .insert(users)
    .values({
      ...account,
      id: newId('usr'),
      isAdmin: start.isAdmin ?? false,
      plan: start.plan ?? 'free',
      subscriptionStatus: start.plan ? 'active' : 'inactive',
      referralCode: newReferralCode(tx),
      createdAt: start.now,
      updatedAt: start.now,
    })
    .returning()
    .get()
}

/** @throws AppError `conflict` when an account has this address. */
export function requireFree(db: Db, email: string): void {
  const taken = db.select({ id: users.id }).from(users).where(eq(users.email, email)).get()
  if (taken) throw new AppError('conflict', 'User already exists')
}

/**
 * Returns the plan and the rights of a new account. At home the first account is an administrator and every account has a
 * plan; elsewhere an account has the plan of its invitation, where `given` is one or an administrator creates it.
 */
export function firstRights(
  tx: Tx,
  { firstUserOwnsHouse: isHome, defaultPlan }: Pick<SignUp, 'firstUserOwnsHouse' | 'defaultPlan'>,
  given: { plan: string | null } | null = null,
): FirstRights {
  if (isHome && !hasAccounts(tx)) return { plan: PLANS.network.name, isAdmin: true }
  const plan = given?.plan ?? (given !== null || isHome ? defaultPlan : null)
  return { plan: plan === NO_PLAN.name ? null : plan, isAdmin: false }
}

/** Has anybody an account here? */
export function hasAccounts(db: Db): boolean {
  return db.select({ id: users.id }).from(users).limit(1).get() !== undefined
}

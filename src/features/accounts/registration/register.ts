import { eq } from 'drizzle-orm'
import { createMiddleware } from 'hono/factory'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { isForwarded, isLocalName, isLoopback, networkKey } from '../../../http/address.ts'
import { describeMiddleware } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Base } from '../../base.ts'
import { proofRequired } from '../bot-detection/bot-detection.ts'
import { enqueueVerification } from '../email-addresses/email-addresses.ts'
import { findInvite, redeemInvite } from '../invites/invites.ts'
import type { InviteRow } from '../invites/tables.ts'
import { countFailure, hasAttempt } from '../lockout/throttle.ts'
import { type Passwords, requireUncommon } from '../passwords/passwords.ts'
import { NO_PLAN, PLANS } from '../plans/plans.ts'
import { newReferralCode, noteReferral } from '../referrals/referrals.ts'
import { type UserRow, users } from '../users/tables.ts'
import { isWalletEmail } from '../users/users.ts'
import type { RegisterRequest } from './schemas.ts'

export type SignUp = {
  mode: 'open' | 'invite' | 'closed'
  /** In mode `home` the first account is the administrator and every account has a plan. */
  firstUserIsAdmin: boolean
  /**
   * Plan of accounts that an administrator creates or invites, and of all accounts in mode `home`; null without one.
   */
  defaultPlan: string | null
  /** Placeholder addresses of wallets end with this domain and cannot be used to sign up. */
  walletEmailDomain: string
}

/**
 * Creates an account, redeems the invitation and records the referral in one transaction; the caller signs in
 * afterwards.
 * @throws AppError `forbidden` when sign-up is closed, the invitation is invalid or a proof of work is missing,
 * `conflict` for a taken address, `invalid` for a wallet's address and for a common password.
 */
export async function registerAccount(
  deps: Base & { passwords: Passwords; mailer: Mailer; signUp: SignUp },
  request: RegisterRequest,
  origin: SignUpOrigin,
): Promise<UserRow> {
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

/** Checks early to save the hashing; the transaction checks again. */
function requireInvited({ db, signUp }: { db: Db; signUp: SignUp }, inviteCode: string | undefined): void {
  if (signUp.mode === 'closed') throw new AppError('forbidden', 'Sign-up is closed')
  if (signUp.mode === 'open') return
  if (!inviteCode) throw new AppError('forbidden', 'Invite code required')
  if (!findInvite(db, inviteCode)) throw invalidInvite()
}

/** Redeems the invitation when sign-up requires one, or when it grants a plan. @throws AppError `forbidden`. */
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

/** `plan` is null for no plan. */
type FirstRights = { plan: UserRow['plan'] | null; isAdmin: boolean }

/** Inserts the account; a `plan` counts as an active subscription. */
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
 * Returns plan and rights of a new account. In mode `home` the first account is an administrator and every account has
 * a plan; otherwise the plan comes from the invitation or the administrator (`given`).
 */
export function firstRights(
  tx: Tx,
  { firstUserIsAdmin: isHome, defaultPlan }: Pick<SignUp, 'firstUserIsAdmin' | 'defaultPlan'>,
  given: { plan: string | null } | null = null,
): FirstRights {
  if (isHome && !hasAccounts(tx)) return { plan: PLANS.network.name, isAdmin: true }
  const plan = given?.plan ?? (given !== null || isHome ? defaultPlan : null)
  return { plan: plan === NO_PLAN.name ? null : plan, isAdmin: false }
}

export function hasAccounts(db: Db): boolean {
  return db.select({ id: users.id }).from(users).limit(1).get() !== undefined
}

/** Accounts per network and hour, loopback included, before each further one requires a proof of work. */
const FREE_SIGN_UPS = 100
const HOUR_MS = 3_600_000

/** Returns whether the next sign-up from the network of `address` requires a proof of work. */
export function isCrowded({ db, clock }: Base, address: string | null): boolean {
  return !hasAttempt(db, clock, throttleOf(address))
}

/**
 * Counts a new account in the transaction that creates it, because concurrent requests may all have passed `isCrowded`.
 * @throws AppError `forbidden` PROOF_REQUIRED when a required proof is missing.
 */
function countSignUp(tx: Tx, { clock }: { clock: Clock }, { address, hasProof }: SignUpOrigin): void {
  const throttle = throttleOf(address)
  if (!hasProof && !hasAttempt(tx, clock, throttle)) throw proofRequired()
  countFailure(tx, clock, throttle)
}

/** `hasProof`: the caller solved a challenge, or none is required. */
type SignUpOrigin = { address: string | null; hasProof: boolean }

function throttleOf(address: string | null) {
  return { key: `sign-ups:${networkKey(address)}`, limit: FREE_SIGN_UPS, windowMs: HOUR_MS }
}

/**
 * In mode `home` the first account administers, so until it exists only a client on this machine may create it without
 * the setup link; otherwise the first visitor to an open port could take the installation.
 * @throws AppError `forbidden` with code `SETUP_REQUIRED`.
 */
export function requireOwnerSetUp(deps: { db: Db; signUp: Pick<SignUp, 'firstUserIsAdmin'>; appUrl: string }) {
  const middleware = createMiddleware<WebEnv>(async (c, next) => {
    const isFree = !deps.signUp.firstUserIsAdmin || hasAccounts(deps.db)
    if (!isFree && !isAtThisMachine(c.req.raw, c.env.address, deps.appUrl)) {
      throw new AppError('forbidden', 'Stead is not set up yet: open the setup link that its start has printed', {
        code: 'SETUP_REQUIRED',
      })
    }
    await next()
  })
  return describeMiddleware(middleware, { errors: ['forbidden'] })
}

/**
 * Returns whether the request comes from this machine under a local name, and `APP_URL` is local too. A proxy that adds
 * no headers is recognised by a public `APP_URL`.
 */
function isAtThisMachine(request: Request, address: string | null, appUrl: string): boolean {
  if (isForwarded(request.headers)) return false
  const names = [new URL(request.url).hostname, new URL(appUrl).hostname]
  return isLoopback(address ?? '') && names.every(isLocalName)
}

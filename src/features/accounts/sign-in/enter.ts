import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import type { ExternalProfile } from '../../../adapters/identity/provider.ts'
import { AppError } from '../../../core/errors.ts'
import { type Sealer, sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../audit/audit.ts'
import { creditReferral, type ReferralDeps } from '../referrals/referrals.ts'
import { firstRights, insertUser, type SignUp } from '../registration/register.ts'
import { type UserRow, users } from '../users/tables.ts'
import { isWalletEmail } from '../users/users.ts'
import type { ProviderName } from './attempts.ts'
import { identities, wallets } from './tables.ts'

export type EnterDeps = ReferralDeps & {
  db: Db
  sealer: Sealer
  takeOver: TakeOver
  signUp: SignUp
  rules: { requiresVerifiedEmail: boolean }
}

const MAX_NAME = 100

/** Plain letters only: lower case must not turn another person's letter, such as the Kelvin sign, into this one's. */
const VerifiedEmail = z
  .string()
  .trim()
  .pipe(z.email().max(254))
  .transform((email) => email.toLowerCase())

/** Somebody whom a provider vouches for. Only `hasSecondFactor` opens an account with two factors to a new provider. */
type Arrival = {
  provider: ProviderName
  profile: ExternalProfile
  address: string | null
  hasSecondFactor: boolean
}

/**
 * The account of whoever signed in at a provider, found, linked or made in one closure. An account with two factors is
 * returned before it is linked: the caller asks for the second and comes again.
 * @throws AppError `unauthenticated`: with code `IdpNoEmail` without a verified address, without one when it is refused.
 */
export async function enterWithProfile(deps: EnterDeps, arrival: Arrival): Promise<UserRow> {
  const { provider, profile, address } = arrival
  const email = VerifiedEmail.safeParse(profile.email).data
  if (!email) throw new AppError('unauthenticated', 'The provider has no verified e-mail', { code: 'IdpNoEmail' })
  return write(deps.db, (tx) => {
    const linked = findLinked(tx, profile)
    const local = findByEmail(tx, email)
    const decision = decideLink({
      isEmailVerifiedThere: true,
      isWalletEmail: isWalletEmail(email, deps.signUp.walletEmailDomain),
      linked: linked && toState(linked),
      local: local && { ...toState(local), ...toLocalState(tx, local, profile.issuer) },
      isSignUpOpen: deps.signUp.mode === 'open',
      isMailConfigured: deps.rules.requiresVerifiedEmail,
    })
    if (decision === 'link' && local?.twoFactorEnabledAt && !arrival.hasSecondFactor) return local
    const now = deps.clock.now()
    const user = follow(tx, deps, decision, { linked, local, email, name: profile.name, now })
    saveIdentity(tx, deps.sealer, { user, provider, profile, email, now })
    if (decision !== 'sign-in') {
      const detail = { provider, issuer: profile.issuer, subject: profile.subject }
      recordAudit(tx, { actor: user.id, action: `sign-in.${decision}`, target: user.id, detail, address }, now)
    }
    return user
  })
}

type Found = { linked: UserRow | null; local: UserRow | null }
type Start = { email: string; name: string | null; now: Date }

function follow(tx: Tx, deps: EnterDeps, decision: LinkDecision, { linked, local, ...start }: Found & Start): UserRow {
  if (decision === 'sign-in' && linked) return linked
  if (decision === 'link' && local) return local
  if (decision === 'take-over-unverified' && local) {
    deps.takeOver(tx, local.id)
    const proved = proveEmail(tx, local.id, start.now)
    creditReferral(tx, deps, local.id)
    return proved
  }
  if (decision === 'create') return createUser(tx, deps.signUp, start)
  throw new AppError('unauthenticated', `This sign-in is not accepted (${linked || local ? 'account' : 'sign-up'})`)
}

function createUser(tx: Tx, signUp: SignUp, { email, name, now }: Start): UserRow {
  const account = { email, name: name?.trim().slice(0, MAX_NAME) || email, passwordHash: null }
  const user = insertUser(tx, account, { now, ...firstRights(tx, signUp) })
  return proveEmail(tx, user.id, now)
}

/** Of an account that nobody else can enter: its address was proved by the provider. */
function proveEmail(tx: Tx, userId: string, now: Date): UserRow {
  const user = tx.update(users).set({ emailVerifiedAt: now }).where(eq(users.id, userId)).returning().get()
  if (!user) throw new AppError('not_found', 'User not found')
  return user
}

function findLinked(tx: Tx, { issuer, subject }: ExternalProfile): UserRow | null {
  const row = tx
    .select({ user: users })
    .from(identities)
    .innerJoin(users, eq(users.id, identities.userId))
    .where(and(eq(identities.issuer, issuer), eq(identities.subject, subject)))
    .get()
  return row?.user ?? null
}

function findByEmail(tx: Tx, email: string): UserRow | null {
  return tx.select().from(users).where(eq(users.email, email)).get() ?? null
}

function toState(user: UserRow) {
  return { isDisabled: user.disabledAt !== null, isExternalSignInDisabled: user.externalSignInDisabledAt !== null }
}

function toLocalState(tx: Tx, user: UserRow, issuer: string) {
  const { issuer: ofIssuer, email } = identities
  const own = tx.select({ issuer: ofIssuer, email }).from(identities).where(eq(identities.userId, user.id)).all()
  const wallet = tx.select({ address: wallets.address }).from(wallets).where(eq(wallets.userId, user.id)).get()
  return {
    // Decisions, 45: only what a provider called verified stands in the row of an identity.
    isEmailVerifiedHere: user.emailVerifiedAt !== null || own.some((identity) => identity.email === user.email),
    hasSubjectOfIssuer: own.some((identity) => identity.issuer === issuer),
    hasOtherSignIn: own.length > 0 || wallet !== undefined,
  }
}

type Link = { user: UserRow; provider: ProviderName; profile: ExternalProfile; email: string; now: Date }

/** A provider gives a refresh token when it likes: without a new one the old one stays. */
function saveIdentity(tx: Tx, sealer: Sealer, { user, provider, profile, email, now }: Link): void {
  const { issuer, subject, refreshToken } = profile
  const token = refreshToken
    ? {
        refreshToken: sealer.seal(refreshToken, `identities:refreshToken:${issuer}:${subject}`),
        refreshTokenHash: sha256(refreshToken),
      }
    : {}
  tx.insert(identities)
    .values({ issuer, subject, userId: user.id, provider, email, createdAt: now, lastUsedAt: now, ...token })
    .onConflictDoUpdate({
      target: [identities.issuer, identities.subject],
      set: { email, lastUsedAt: now, ...token },
    })
    .run()
}

/** What is known when somebody comes back from a provider, as one question without names or secrets. */
export type LinkQuestion = {
  /** Does the provider say that the e-mail is verified? Nothing else of its word counts. */
  isEmailVerifiedThere: boolean
  /** The e-mail stands for a wallet, which nobody may have as an address (decisions, 5). */
  isWalletEmail: boolean
  /** The account that (issuer, subject) belongs to. */
  linked: AccountState | null
  /** The account that has the e-mail. */
  local: (AccountState & LocalState) | null
  isSignUpOpen: boolean
  isMailConfigured: boolean
}

type AccountState = { isDisabled: boolean; isExternalSignInDisabled: boolean }
type LocalState = {
  /** Its own e-mail was proved: by a mailed link, or by a provider that it is linked to already. */
  isEmailVerifiedHere: boolean
  /** It is linked to another subject of the same issuer. */
  hasSubjectOfIssuer: boolean
  /** It is linked to a wallet, or to any provider. */
  hasOtherSignIn: boolean
}

export type LinkDecision = 'sign-in' | 'link' | 'take-over-unverified' | 'create' | 'refuse'

/**
 * Which account a sign-in at a provider leads to (decisions, 6). (issuer, subject) decide; the e-mail counts only for
 * somebody who has never been here, and never opens an account that may be another person's.
 */
export function decideLink(question: LinkQuestion): LinkDecision {
  const { linked, local } = question
  if (!question.isEmailVerifiedThere) return 'refuse'
  if (linked) return isOpen(linked) ? 'sign-in' : 'refuse'
  if (question.isWalletEmail) return 'refuse'
  if (!local) return question.isSignUpOpen ? 'create' : 'refuse'
  if (!isOpen(local)) return 'refuse'
  // The provider gave the address to somebody else, or he to himself: a new subject is another person.
  if (local.hasSubjectOfIssuer) return 'refuse'
  if (local.isEmailVerifiedHere) return 'link'
  // Whoever signs in to it otherwise typed an address that was never his to type, and still comes in that way.
  if (local.hasOtherSignIn) return 'refuse'
  return question.isMailConfigured ? 'take-over-unverified' : 'link'
}

function isOpen(account: AccountState): boolean {
  return !account.isDisabled && !account.isExternalSignInDisabled
}

/**
 * Takes an account away from whoever made it, in the closure that gives it to the one who proved its address. It reaches into
 * every room that keeps something for somebody, so it is handed in.
 */
export type TakeOver = (tx: Tx, userId: string) => void

import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import type { ExternalProfile } from '../../../adapters/identity/provider.ts'
import { AppError } from '../../../core/errors.ts'
import { type Sealer, sha256 } from '../../../core/secrets.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { recordAudit } from '../audit/audit.ts'
import type { GrantCredits } from '../referrals/referrals.ts'
import { creditReferral } from '../referrals/referrals.ts'
import { firstRights, insertUser, type SignUp } from '../registration/register.ts'
import { type UserRow, users } from '../users/tables.ts'
import { isWalletEmail } from '../users/users.ts'
import type { ProviderName } from './attempts.ts'
import { identities, wallets } from './tables.ts'

export type EnterDeps = Base & {
  grantCredits: GrantCredits
  takeOver: TakeOver
  signUp: SignUp
  rules: { requiresVerifiedEmail: boolean }
}

const MAX_NAME = 100

/**
 * Only plain letters: lowercasing must not map another character, such as the Kelvin sign, to a letter of someone
 * else's address.
 */
const VerifiedEmail = z
  .string()
  .trim()
  .pipe(z.email().max(254))
  .transform((email) => email.toLowerCase())

/**
 * A user vouched for by a provider. Linking a new provider to an account with two factors requires `hasSecondFactor`.
 */
type Arrival = {
  provider: ProviderName
  profile: ExternalProfile
  address: string | null
  hasSecondFactor: boolean
}

/**
 * Finds, links or creates the account of a provider's user in one transaction. An account with two factors is returned
 * unlinked first: the caller requests the second factor and calls again.
 * @throws AppError `unauthenticated`, with code `IdpNoEmail` without a verified address.
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

/** Marks the address as verified by the provider. */
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
    // Identities store an e-mail only if the provider verified it.
    isEmailVerifiedHere: user.emailVerifiedAt !== null || own.some((identity) => identity.email === user.email),
    hasSubjectOfIssuer: own.some((identity) => identity.issuer === issuer),
    hasOtherSignIn: own.length > 0 || wallet !== undefined,
  }
}

type Link = { user: UserRow; provider: ProviderName; profile: ExternalProfile; email: string; now: Date }

/** Providers return a refresh token only sometimes; the previous one is kept. */
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

/** The facts that decide which account a provider's user gets. */
export type LinkQuestion = {
  /** The provider says that the e-mail is verified; its other claims do not count. */
  isEmailVerifiedThere: boolean
  /** The e-mail is the placeholder address of a wallet, which cannot be used otherwise. */
  isWalletEmail: boolean
  /** The account linked to (issuer, subject). */
  linked: AccountState | null
  /** The account with the e-mail. */
  local: (AccountState & LocalState) | null
  isSignUpOpen: boolean
  isMailConfigured: boolean
}

type AccountState = { isDisabled: boolean; isExternalSignInDisabled: boolean }
type LocalState = {
  /** Its e-mail was verified by a mailed link or by a linked provider. */
  isEmailVerifiedHere: boolean
  /** It is linked to another subject of the same issuer. */
  hasSubjectOfIssuer: boolean
  /** It is linked to a wallet, or to any provider. */
  hasOtherSignIn: boolean
}

export type LinkDecision = 'sign-in' | 'link' | 'take-over-unverified' | 'create' | 'refuse'

/**
 * Decides which account a provider's user gets. (issuer, subject) identify the account; the e-mail counts only for new
 * subjects and never opens an account that may belong to another person.
 */
export function decideLink(question: LinkQuestion): LinkDecision {
  const { linked, local } = question
  if (!question.isEmailVerifiedThere) return 'refuse'
  if (linked) return isOpen(linked) ? 'sign-in' : 'refuse'
  if (question.isWalletEmail) return 'refuse'
  if (!local) return question.isSignUpOpen ? 'create' : 'refuse'
  if (!isOpen(local)) return 'refuse'
  // A new subject of the same issuer is another person, even with the same address.
  if (local.hasSubjectOfIssuer) return 'refuse'
  if (local.isEmailVerifiedHere) return 'link'
  // The account's holder never verified this address and can still sign in with the other method.
  if (local.hasOtherSignIn) return 'refuse'
  return question.isMailConfigured ? 'take-over-unverified' : 'link'
}

function isOpen(account: AccountState): boolean {
  return !account.isDisabled && !account.isExternalSignInDisabled
}

/**
 * Removes the previous holder's access and data from an account whose address another person has proved, in the same
 * transaction. Injected because it reaches into every domain.
 */
export type TakeOver = (tx: Tx, userId: string) => void

import { and, eq, gt } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { recordAudit } from '../audit/audit.ts'
import { enqueueVerification } from '../email-addresses/email-addresses.ts'
import { type Passwords, requireUncommon } from '../passwords/passwords.ts'
import { type UserRow, users } from '../users/tables.ts'
import { isWalletEmail } from '../users/users.ts'
import { hasAccounts, insertUser, type SignUp } from './register.ts'
import type { SetupRequest } from './schemas.ts'
import { setupLinks } from './tables.ts'

/** The first account administers and has the largest plan. */
const OWNER = { plan: 'network', isAdmin: true } as const

/**
 * Creates the first account by the setup link, as administrator in every mode.
 * @throws AppError `conflict` when an account exists, `forbidden` for a used, expired or unknown link, `invalid` for a
 * wallet's address and for a common password.
 */
export async function setUp(
  deps: Base & { passwords: Passwords; mailer: Mailer; signUp: SignUp },
  request: SetupRequest,
  address: string | null,
): Promise<UserRow> {
  const { db, clock } = deps
  const { token, email, password } = request
  requireNoAccounts(db)
  if (!isSetupLinkOpen(db, token, clock.now())) throw deadLink()
  if (isWalletEmail(email, deps.signUp.walletEmailDomain)) throw new AppError('invalid', 'Invalid email format')
  requireUncommon(password)
  const account = { email, name: request.name || email, passwordHash: await deps.passwords.hash(password) }
  return write(db, (tx) => {
    const now = clock.now()
    requireNoAccounts(tx)
    if (!takeSetupLink(tx, token, now)) throw deadLink()
    const user = insertUser(tx, account, { now, ...OWNER })
    enqueueVerification(tx, deps, user)
    recordAudit(tx, { actor: user.id, action: 'account.set-up', target: user.id, address }, now)
    return user
  })
}

/**
 * Creates the account of `ADMIN_EMAIL` with a verified address, while there is no account.
 * @returns null when an account exists.
 */
export async function createConfiguredOwner(
  { db, clock, passwords }: { db: Db; clock: Clock; passwords: Passwords },
  { email, password }: { email: string; password: string },
): Promise<UserRow | null> {
  if (hasAccounts(db)) return null
  const account = { email, name: email, passwordHash: await passwords.hash(password) }
  return write(db, (tx) => {
    if (hasAccounts(tx)) return null
    const now = clock.now()
    const user = insertUser(tx, account, { now, ...OWNER })
    recordAudit(tx, { actor: 'system', action: 'account.set-up', target: user.id }, now)
    return tx.update(users).set({ emailVerifiedAt: now }).where(eq(users.id, user.id)).returning().get() ?? user
  })
}

function requireNoAccounts(db: Db | Tx): void {
  if (hasAccounts(db)) throw new AppError('conflict', 'Stead is set up already: sign in')
}

function deadLink(): AppError {
  return new AppError('forbidden', 'This setup link works no more: start Stead again, or run stead user setup-link')
}

/** 43 of 62 characters: 256 bits. */
const TOKEN_LENGTH = 43
const LIFETIME_MS = 24 * 3_600_000

export type SetupLink = { token: string; expiresAt: Date }

/**
 * Creates the setup link and ends the previous one; null when an account exists. Only the hash of its token is stored.
 */
export function issueSetupLink({ db, clock }: { db: Db; clock: Clock }): Promise<SetupLink | null> {
  return write(db, (tx) => {
    if (hasAccounts(tx)) return null
    const link = { token: randomText(TOKEN_LENGTH), expiresAt: new Date(clock.now().getTime() + LIFETIME_MS) }
    const row = { tokenHash: sha256(link.token), expiresAt: link.expiresAt }
    tx.insert(setupLinks)
      .values({ id: 1, ...row })
      .onConflictDoUpdate({ target: setupLinks.id, set: row })
      .run()
    return link
  })
}

export function toSetupUrl(webUrl: string, token: string): string {
  return `${webUrl}/setup?token=${token}`
}

/** Uses the link up: exactly one of several concurrent callers gets true. */
function takeSetupLink(tx: Tx, token: string, now: Date): boolean {
  return tx.delete(setupLinks).where(isOpen(token, now)).returning().all().length > 0
}

/** Checks the link before a password is hashed. */
function isSetupLinkOpen(db: Db, token: string, now: Date): boolean {
  return db.select({ id: setupLinks.id }).from(setupLinks).where(isOpen(token, now)).get() !== undefined
}

function isOpen(token: string, now: Date) {
  return and(eq(setupLinks.tokenHash, sha256(token)), gt(setupLinks.expiresAt, now))
}

import { and, eq, isNull } from 'drizzle-orm'
import type { Db, Tx } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { type UserRow, users } from './tables.ts'

/** What decides who is an admin besides the account's own row. An address counts only when it was proved, as soon as mail makes that possible (decisions, 5). */
export type AccountRules = { adminEmails: readonly string[]; requiresVerifiedEmail: boolean }

/** The columns that say who someone is: all that is read on every request. */
export const identityColumns = {
  id: users.id,
  email: users.email,
  name: users.name,
  isAdmin: users.isAdmin,
  plan: users.plan,
  subscriptionStatus: users.subscriptionStatus,
  subscriptionId: users.subscriptionId,
  emailVerifiedAt: users.emailVerifiedAt,
  disabledAt: users.disabledAt,
}
export type Identity = Pick<UserRow, keyof typeof identityColumns>

/** The account as routes see it: no hash, the admin flag decided (decisions, 5 and 44), a plan only while it is paid for. */
export function toSignedInUser(row: Identity, rules: AccountRules): SignedInUser {
  const isActive = row.subscriptionStatus === 'active'
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    isAdmin: isAdmin(row, rules),
    plan: row.plan,
    subscriptionId: isActive ? (row.subscriptionId ?? `sub_${row.id}`) : null,
  }
}

/** Is it an admin by its row, or by an address that counts? */
export function isAdmin(
  row: Pick<Identity, 'isAdmin' | 'email' | 'emailVerifiedAt'>,
  { adminEmails, requiresVerifiedEmail }: AccountRules,
): boolean {
  return row.isAdmin || (adminEmails.includes(row.email) && (row.emailVerifiedAt !== null || !requiresVerifiedEmail))
}

/** Looks an account up by its id, for callers that the internal key vouches for. */
export function createUserFinder(db: Db, rules: AccountRules): (id: string) => SignedInUser | null {
  return (id) => {
    const row = db
      .select(identityColumns)
      .from(users)
      .where(and(eq(users.id, id), isNull(users.disabledAt)))
      .get()
    return row ? toSignedInUser(row, rules) : null
  }
}

/** Returns the IANA time zone an account has reported or chosen, null when it is unknown. */
export function findTimeZone(db: Db | Tx, userId: string): string | null {
  return db.select({ timeZone: users.timeZone }).from(users).where(eq(users.id, userId)).get()?.timeZone ?? null
}

/** Is it the address that stands for a wallet? Wallets are known by address and chain, so nobody may take one as e-mail. */
export function isWalletEmail(email: string, domain: string): boolean {
  return /^0x[0-9a-f]{40}@/.test(email) && email.endsWith(`@${domain}`)
}

import { and, eq, isNull } from 'drizzle-orm'
import type { Db, Tx } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { type UserRow, users } from './tables.ts'

/** Rules for admins by address. An address in `adminEmails` must be verified once mail is configured. */
export type AccountRules = { adminEmails: readonly string[]; requiresVerifiedEmail: boolean }

/** The columns read on every request. */
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

/**
 * Returns the account as routes see it: without secrets, with the admin flag resolved, and a plan only while it is
 * paid.
 */
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

/** Returns whether the account is an admin by its row or by its address. */
export function isAdmin(row: Pick<Identity, 'isAdmin' | 'email' | 'emailVerifiedAt'>, rules: AccountRules): boolean {
  if (row.isAdmin) return true
  // Last, because the program finds out each time whether mail is configured.
  return rules.adminEmails.includes(row.email) && (row.emailVerifiedAt !== null || !rules.requiresVerifiedEmail)
}

/** Finds accounts by id, for callers with the internal key. */
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

/** Returns whether the address is a wallet's placeholder, which no one may use as an e-mail address. */
export function isWalletEmail(email: string, domain: string): boolean {
  return /^0x[0-9a-f]{40}@/.test(email) && email.endsWith(`@${domain}`)
}

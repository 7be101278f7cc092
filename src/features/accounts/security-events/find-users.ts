import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { sha256 } from '../../../core/secrets.ts'
import { trimTrailing } from '../../../core/text/trim.ts'
import type { Db } from '../../../db/open.ts'
import { identities } from '../sign-in/tables.ts'
import { users } from '../users/tables.ts'
import type { Subject } from './schemas.ts'

/** Who may be meant: the issuer of the event, and the name under which its accounts are linked here. */
export type Issuers = { event: string; identities: string }

/**
 * Returns the accounts an event is about: those linked under its subject or token at the issuer, else those with its e-mail
 * (Interface 6). An account that never linked the provider counts as well: its owner may read mail with the account that was
 * taken.
 */
export function findSubjects(db: Db, issuers: Issuers, subject: Subject): string[] {
  const { iss, email } = subject
  if (iss !== undefined && !namesOf(issuers).includes(iss)) return []
  const linked = findLinked(db, issuers, toLinkCondition(subject))
  if (linked.length > 0 || email === undefined) return linked
  const address = email.toLowerCase()
  const linkedByEmail = findLinked(db, issuers, eq(sql`lower(${identities.email})`, address))
  return linkedByEmail.length > 0 ? linkedByEmail : findByEmail(db, address)
}

function findLinked(db: Db, issuers: Issuers, condition: SQL | undefined): string[] {
  if (!condition) return []
  const isThis = and(inArray(identities.issuer, namesOf(issuers)), condition)
  const rows = db.select({ userId: identities.userId }).from(identities).where(isThis).all()
  return [...new Set(rows.map(({ userId }) => userId))]
}

function findByEmail(db: Db, address: string): string[] {
  const rows = db.select({ id: users.id }).from(users).where(eq(users.email, address)).all()
  return rows.map(({ id }) => id)
}

/** Some issuers end with a slash in one kind of token and not in the other: both of ours mean the same house. */
export function namesOf({ event, identities }: Issuers): string[] {
  return [event, identities].map((issuer) => trimTrailing(issuer, '/')).flatMap((bare) => [bare, `${bare}/`])
}

function toLinkCondition({ sub, token }: Subject): SQL | undefined {
  if (sub !== undefined) return eq(identities.subject, sub)
  // A revoked token is given as itself or as its hash.
  if (token !== undefined) return inArray(identities.refreshTokenHash, [token, sha256(token)])
  return undefined
}

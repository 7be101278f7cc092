import { and, eq, inArray, sql } from 'drizzle-orm'
import { sha256 } from '../../../core/secrets.ts'
import { trimTrailing } from '../../../core/text/trim.ts'
import type { Db } from '../../../db/open.ts'
import { identities } from '../sign-in/tables.ts'
import type { Subject } from './schemas.ts'

/** Who may be meant: the issuer of the event, and the name under which its accounts are linked here. */
export type Issuers = { event: string; identities: string }

/**
 * The accounts an event is about, at most one in practice: by the subject at the issuer, else by the e-mail under which
 * the issuer's account is linked. An account that is not linked to the issuer is never found: its word counts for its own.
 */
export function findSubjects(db: Db, issuers: Issuers, subject: Subject): string[] {
  const known = namesOf(issuers)
  if (subject.iss !== undefined && !known.includes(subject.iss)) return []
  const isSubject = toCondition(subject)
  if (!isSubject) return []
  const rows = db
    .select({ userId: identities.userId })
    .from(identities)
    .where(and(inArray(identities.issuer, known), isSubject))
    .all()
  return [...new Set(rows.map(({ userId }) => userId))]
}

/** Some issuers end with a slash in one kind of token and not in the other: both of ours mean the same house. */
export function namesOf({ event, identities }: Issuers): string[] {
  return [event, identities].map((issuer) => trimTrailing(issuer, '/')).flatMap((bare) => [bare, `${bare}/`])
}

/** A subject that is named and unknown is not looked for by e-mail: addresses are given to other people (decisions, 6). */
function toCondition({ sub, email, token }: Subject) {
  if (sub !== undefined) return eq(identities.subject, sub)
  if (email !== undefined) return eq(sql`lower(${identities.email})`, email.toLowerCase())
  // A revoked token is told as itself or as its hash.
  if (token !== undefined) return inArray(identities.refreshTokenHash, [token, sha256(token)])
  return undefined
}

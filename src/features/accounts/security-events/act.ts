import { and, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import { sha256 } from '../../../core/secrets.ts'
import { trimTrailing } from '../../../core/text/trim.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { Base } from '../../base.ts'
import { recordAudit } from '../audit/audit.ts'
import { endSessions } from '../sessions/sessions.ts'
import { identities } from '../sign-in/tables.ts'
import { users } from '../users/tables.ts'
import { ACT_JOB } from './receive.ts'
import { EventBody, StoredClaims, type Subject } from './schemas.ts'
import { securityEvents } from './tables.ts'

type ActDeps = Base & {
  /** The provider that sends events; linked identities have this issuer. */
  idpB: { issuer: string }
}

type Target = { userId: string; issuers: Issuers; reason: string | undefined; now: Date }
/** Applies an event to one account and returns a description of the outcome. */
type Action = (tx: Tx, target: Target) => string

const RISC = 'https://schemas.openid.net/secevent/risc/event-type/'
const OAUTH = 'https://schemas.openid.net/secevent/oauth/event-type/'

/** Actions by event URI; some issuers spell `tokens-revoked` as `token-revoked`. */
const ACTIONS: ReadonlyMap<string, Action> = new Map([
  [`${RISC}account-disabled`, disable],
  [`${RISC}account-enabled`, enable],
  [`${RISC}sessions-revoked`, endAllSessions],
  [`${OAUTH}tokens-revoked`, revokeTokens],
  [`${OAUTH}token-revoked`, revokeTokens],
  [`${RISC}account-credential-change-required`, note],
])
/** Actions of legacy tokens by short name, the last part of the URI. */
const LEGACY_ACTIONS: ReadonlyMap<string, Action> = new Map([
  ['account-compromised', endAllSessions],
  ['account-disabled', endAllSessions],
  ['sessions-revoked', endAllSessions],
  ['identifier-changed', endAllSessions],
  ['account-enabled', note],
])

/** Handles a stored event exactly once: the action and the mark are one transaction. */
async function actOnSecurityEvent(deps: ActDeps, id: { issuer: string; jti: string }): Promise<void> {
  const outcome = await write(deps.db, (tx) => {
    const isThis = and(eq(securityEvents.issuer, id.issuer), eq(securityEvents.jti, id.jti))
    const isOpen = and(isThis, isNull(securityEvents.handledAt))
    const row = tx.select({ claims: securityEvents.claims }).from(securityEvents).where(isOpen).get()
    if (!row) return null
    const done = actOnAll(tx, deps, id, StoredClaims.parse(row.claims))
    tx.update(securityEvents).set({ handledAt: deps.clock.now(), outcome: done }).where(isThis).run()
    return done
  })
  if (outcome !== null) deps.log.info({ jti: id.jti, outcome }, 'security event')
}

/** @returns the outcomes of all events in a token. */
function actOnAll(tx: Tx, deps: ActDeps, id: { issuer: string; jti: string }, claims: StoredClaims): string {
  const outcomes = Object.entries(claims.events).map(([uri, body]) =>
    actOnOne(tx, { ...id, uri, claims, body: EventBody.parse(body), ...deps }),
  )
  return outcomes.join('; ')
}

type OneEvent = { issuer: string; jti: string; uri: string; claims: StoredClaims; body: EventBody } & ActDeps

/** Applies one event and records an audit entry per account. @returns the outcome for the column `outcome`. */
function actOnOne(tx: Tx, event: OneEvent): string {
  const name = event.uri.split('/').at(-1) ?? event.uri
  const issuers = { event: event.issuer, identities: event.idpB.issuer }
  const now = event.clock.now()
  const audit = (target: string, done: string) => {
    const detail = { issuer: event.issuer, jti: event.jti, reason: event.body.reason ?? null, done }
    recordAudit(tx, { actor: 'system', action: `security-event.${name}`, target, detail }, now)
  }

  const action = event.claims.form === 'legacy' ? LEGACY_ACTIONS.get(name) : ACTIONS.get(event.uri)
  if (!action) {
    const done = event.uri === `${RISC}verification` ? 'acknowledged' : 'not supported'
    audit(event.issuer, done)
    return `${name}: ${done}`
  }
  const userIds = findSubjects(tx, issuers, subjectOf(event))
  for (const userId of userIds) audit(userId, action(tx, { userId, issuers, reason: event.body.reason, now }))
  if (userIds.length === 0) audit(event.issuer, 'nobody here')
  return `${name}: ${userIds.join(', ') || 'nobody here'}`
}

/** Legacy tokens put the user's e-mail into the claim `sub`. */
function subjectOf({ claims, body }: OneEvent): Subject {
  if (claims.form === 'current' || claims.sub === undefined) return body.subject
  return claims.sub.includes('@') ? { ...body.subject, email: claims.sub } : { ...body.subject, sub: claims.sub }
}

function disable(tx: Tx, target: Target): string {
  if (target.reason !== 'hijacking') return endAllSessions(tx, target)
  tx.update(users)
    .set({ externalSignInDisabledAt: target.now, updatedAt: target.now })
    .where(eq(users.id, target.userId))
    .run()
  return `external sign-in disabled, ${endAllSessions(tx, target)}`
}

function enable(tx: Tx, { userId, now }: Target): string {
  tx.update(users).set({ externalSignInDisabledAt: null, updatedAt: now }).where(eq(users.id, userId)).run()
  return 'external sign-in enabled'
}

function endAllSessions(tx: Tx, { userId }: Target): string {
  endSessions(tx, userId)
  return 'sessions ended'
}

function revokeTokens(tx: Tx, target: Target): string {
  const isTheirs = inArray(identities.issuer, namesOf(target.issuers))
  tx.update(identities)
    .set({ refreshToken: null, refreshTokenHash: null })
    .where(and(eq(identities.userId, target.userId), isTheirs))
    .run()
  return `refresh tokens deleted, ${endAllSessions(tx, target)}`
}

function note(): string {
  return 'noted'
}

/** The issuer of the event, and the issuer under which identities are linked. */
type Issuers = { event: string; identities: string }

/**
 * Returns the accounts of an event: those linked to its subject or token, else those with its e-mail. Accounts that
 * never linked the provider count too, because the compromised account may receive their mail.
 */
function findSubjects(db: Db, issuers: Issuers, subject: Subject): string[] {
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

/** Some issuers end with a slash in only one kind of token, so both spellings count. */
function namesOf({ event, identities }: Issuers): string[] {
  return [event, identities].map((issuer) => trimTrailing(issuer, '/')).flatMap((bare) => [bare, `${bare}/`])
}

function toLinkCondition({ sub, token }: Subject): SQL | undefined {
  if (sub !== undefined) return eq(identities.subject, sub)
  // The token is given in plain text or as its hash.
  if (token !== undefined) return inArray(identities.refreshTokenHash, [token, sha256(token)])
  return undefined
}

/** Handles an acknowledged security event. */
export function securityEventJob(deps: ActDeps): JobKind {
  return defineJob({
    kind: ACT_JOB,
    payload: z.object({ issuer: z.string(), jti: z.string() }),
    run: (id) => actOnSecurityEvent(deps, id),
  })
}

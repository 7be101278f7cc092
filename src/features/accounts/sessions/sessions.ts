import { and, desc, eq, gt, isNull, like, lte, ne } from 'drizzle-orm'
import { type Adapter, Lucia, TimeSpan } from 'lucia'
import { addDays, type Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import type { Log } from '../../../core/log.ts'
import { sha256 } from '../../../core/secrets.ts'
import { memoize } from '../../../db/changes.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { parameter } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { type SessionRow, sessions, users } from '../users/tables.ts'
import { type AccountRules, type Identity, identityColumns, toSignedInUser } from '../users/users.ts'

export const SESSION_DAYS = 30
/** 43 of 62 characters: 256 bits. */
const TOKEN_LENGTH = 43
/** `lastSeen` is informational: a precision of five minutes saves a write per request. */
const LAST_SEEN_STEP_MS = 5 * 60_000

declare module 'lucia' {
  interface Register {
    Lucia: Lucia<Record<never, never>, { row: Identity }>
    DatabaseUserAttributes: Identity
    DatabaseSessionAttributes: Partial<SessionOrigin> & { requireStill?: RequireStill }
  }
}

/** The browser's user agent and address at sign-in, shown in the list of sessions. */
type SessionOrigin = { userAgent: string | null; address: string | null }

/** Verifies in the transaction that stores a session that the earlier checks still hold. */
type RequireStill = (tx: Tx) => void

export type Sessions = {
  /** Starts a session and returns its token, which is not stored. @throws what `requireStill` throws. */
  create(userId: string, visitor?: SessionOrigin, requireStill?: RequireStill): Promise<string>
  /** Returns null for unknown and expired sessions and for disabled accounts. */
  find(token: string): Promise<SignedInUser | null>
  end(token: string): Promise<void>
  deleteExpired(): Promise<void>
}

/** Sessions last 30 days from sign-in. Lucia manages them; its session id is our token, which the adapter hashes. */
export function createSessions(deps: { db: Db; clock: Clock; log: Log; rules: AccountRules }): Sessions {
  const findRow = createSessionFinder(deps)
  const lucia = new Lucia(hashingAdapter(deps, findRow), {
    sessionExpiresIn: new TimeSpan(SESSION_DAYS, 'd'),
    getUserAttributes: (row) => ({ row }),
  })
  return {
    async create(userId, visitor = { userAgent: null, address: null }, requireStill = () => undefined) {
      const attributes = { ...visitor, requireStill }
      const session = await lucia.createSession(userId, attributes, { sessionId: randomText(TOKEN_LENGTH) })
      return session.id
    },
    // Every request of a browser looks its session up, and Lucia would only compare the expiry in four more promises.
    async find(token) {
      const row = findRow(token)
      if (!row) return null
      if (row.expiresAt > deps.clock.now()) return toSignedInUser(row, deps.rules)
      await lucia.invalidateSession(token)
      return null
    },
    end: (token) => lucia.invalidateSession(token),
    deleteExpired: () => lucia.deleteExpiredSessions(),
  }
}

/** Ends every session of a user in the caller's transaction, except the one with the token `keep`. */
export function endSessions(tx: Tx, userId: string, keep?: string): void {
  const others = keep === undefined ? undefined : ne(sessions.tokenHash, sha256(keep))
  tx.delete(sessions)
    .where(and(eq(sessions.userId, userId), others))
    .run()
}

/** Finds the row of a session and its enabled account. */
function createSessionFinder(deps: { db: Db; clock: Clock; log: Log }) {
  const { db, clock } = deps
  const noteSeen = createSeenNoter(deps)
  const lookup = db
    .select({ ...identityColumns, expiresAt: sessions.expiresAt, lastSeenAt: sessions.lastSeenAt })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(sessions.tokenHash, parameter('tokenHash')), isNull(users.disabledAt)))
    .prepare()
  const findSession = memoize(db, (tokenHash) => lookup.get({ tokenHash }) ?? null)

  return (token: string) => {
    const tokenHash = sha256(token)
    const found = findSession(tokenHash)
    if (found) noteSeen(tokenHash, found.lastSeenAt, clock.now())
    return found
  }
}

/** Stores only SHA-256 hashes of tokens, so a database reader cannot sign in. */
function hashingAdapter(
  { db, clock }: { db: Db; clock: Clock },
  findRow: ReturnType<typeof createSessionFinder>,
): Adapter {
  return {
    async getSessionAndUser(token) {
      const found = findRow(token)
      if (!found) return [null, null]
      return [
        { id: token, userId: found.id, expiresAt: found.expiresAt, attributes: {} },
        { id: found.id, attributes: found },
      ]
    },
    async setSession({ id: token, userId, attributes: { requireStill, ...visitor } }) {
      const now = clock.now()
      const row = {
        ...visitor,
        tokenHash: sha256(token),
        userId,
        createdAt: now,
        lastSeenAt: now,
        expiresAt: addDays(now, SESSION_DAYS),
      }
      await write(db, (tx) => {
        requireStill?.(tx)
        tx.insert(sessions).values(row).run()
      })
    },
    async deleteSession(token) {
      await write(db, (tx) =>
        tx
          .delete(sessions)
          .where(eq(sessions.tokenHash, sha256(token)))
          .run(),
      )
    },
    async deleteUserSessions(userId) {
      await write(db, (tx) => tx.delete(sessions).where(eq(sessions.userId, userId)).run())
    },
    async deleteExpiredSessions() {
      await deleteInBatches(db, sessions, lte(sessions.expiresAt, clock.now()))
    },
    // Sessions end 30 days after sign-in, even when used.
    async updateSessionExpiration() {},
    async getUserSessions() {
      throw new Error('Sessions are found by their token only')
    },
  }
}

/** Records the last use of a session in the background, at most once in five minutes. */
function createSeenNoter({ db, log }: { db: Db; clock: Clock; log: Log }) {
  const underWay = new Set<string>()
  const note = async (tokenHash: string, now: Date) => {
    await write(db, (tx) =>
      tx.update(sessions).set({ lastSeenAt: now }).where(eq(sessions.tokenHash, tokenHash)).run(),
    ).finally(() => underWay.delete(tokenHash))
  }
  return (tokenHash: string, lastSeenAt: Date | null, now: Date) => {
    if (lastSeenAt && now.getTime() - lastSeenAt.getTime() < LAST_SEEN_STEP_MS) return
    if (underWay.has(tokenHash)) return
    underWay.add(tokenHash)
    note(tokenHash, now).catch((error) => log.error({ error: errorMessage(error) }, 'cannot note a session’s use'))
  }
}

const HOUR_MS = 3_600_000

/** Deletes expired sessions. */
export function sessionsJob(deps: { sessions: Sessions }): RepeatingJob {
  return { name: 'accounts.sessions', everyMs: HOUR_MS, run: () => deps.sessions.deleteExpired() }
}

/** The id of a session is the first 16 hex digits of its token's hash, which cannot be used to sign in. */
const ID = /^[0-9a-f]{16}$/

export function toSessionId(tokenHash: string): string {
  return tokenHash.slice(0, 16)
}

/** Returns the user's active sessions, latest sign-in first. */
export function listSessions({ db, clock }: Base, userId: string): SessionRow[] {
  return db
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, clock.now())))
    .orderBy(desc(sessions.createdAt), sessions.tokenHash)
    .all()
}

/** Ends one session of the user. @throws AppError `not_found` for an unknown session and for another user's. */
export async function endSession(db: Db, userId: string, id: string): Promise<void> {
  const ended = await write(db, (tx) => {
    if (!ID.test(id)) return 0
    return tx
      .delete(sessions)
      .where(and(eq(sessions.userId, userId), like(sessions.tokenHash, `${id}%`)))
      .run().changes
  })
  if (ended === 0) throw new AppError('not_found', 'Session not found')
}

/** Ends every session of the user except the one with the token `keep`. */
export async function endOtherSessions(db: Db, userId: string, keep: string): Promise<void> {
  await write(db, (tx) => endSessions(tx, userId, keep))
}

export function sessionIdOf(token: string): string {
  return toSessionId(sha256(token))
}

const RECENT_MS = 15 * 60_000

/** The dashboard shows the sign-in form for this code. */
export const FRESH_SESSION_REQUIRED = { code: 'FRESH_SESSION_REQUIRED' }

/** Returns whether the session started within the last 15 minutes; an API key does not count. */
export function hasRecentSignIn({ db, clock }: Base, userId: string, sessionToken: string | undefined): boolean {
  if (sessionToken === undefined) return false
  const since = new Date(clock.now().getTime() - RECENT_MS)
  const isTheirs = and(eq(sessions.tokenHash, sha256(sessionToken)), eq(sessions.userId, userId))
  const recent = db
    .select({ createdAt: sessions.createdAt })
    .from(sessions)
    .where(and(isTheirs, gt(sessions.createdAt, since)))
  return recent.get() !== undefined
}

/** Protects sensitive actions from unattended sessions. @throws AppError `unauthenticated` FRESH_SESSION_REQUIRED. */
export function requireRecentSignIn(deps: Base, userId: string, sessionToken: string | undefined): void {
  if (hasRecentSignIn(deps, userId, sessionToken)) return
  throw new AppError('unauthenticated', 'Sign in again to do this', FRESH_SESSION_REQUIRED)
}

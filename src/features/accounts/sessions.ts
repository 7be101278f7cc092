import { eq, lte } from 'drizzle-orm'
import { type Adapter, Lucia, TimeSpan } from 'lucia'
import type { Clock } from '../../core/clock.ts'
import { addDays } from '../../core/clock.ts'
import { randomText } from '../../core/ids.ts'
import { sha256 } from '../../core/secrets.ts'
import type { Db } from '../../db/open.ts'
import { parameter } from '../../db/parameters.ts'
import { write } from '../../db/write.ts'
import type { SignedInUser } from '../../http/env.ts'
import { sessions, users } from './tables.ts'
import { type AccountRules, type Identity, identityColumns, toSignedInUser } from './users.ts'

export const SESSION_DAYS = 30
/** 43 of 62 characters: 256 bits. */
const TOKEN_LENGTH = 43

declare module 'lucia' {
  interface Register {
    Lucia: Lucia<Record<never, never>, { row: Identity }>
    DatabaseUserAttributes: Identity
  }
}

export type Sessions = {
  /** Starts a session and returns its token, which is stored nowhere. */
  create(userId: string): Promise<string>
  find(token: string): Promise<SignedInUser | null>
  end(token: string): Promise<void>
  deleteExpired(): Promise<void>
}

/** Sessions of 30 days, counted from sign-in. Lucia is the engine; what it calls an id is the token, hashed below it. */
export function createSessions(deps: { db: Db; clock: Clock; rules: AccountRules }): Sessions {
  const lucia = new Lucia(hashingAdapter(deps), {
    sessionExpiresIn: new TimeSpan(SESSION_DAYS, 'd'),
    getUserAttributes: (row) => ({ row }),
  })
  return {
    async create(userId) {
      const session = await lucia.createSession(userId, {}, { sessionId: randomText(TOKEN_LENGTH) })
      return session.id
    },
    async find(token) {
      const { user } = await lucia.validateSession(token)
      return user ? toSignedInUser(user.row, deps.rules) : null
    },
    end: (token) => lucia.invalidateSession(token),
    deleteExpired: () => lucia.deleteExpiredSessions(),
  }
}

/** Keeps only SHA-256 of a token (rulings, 8): who reads the database cannot sign in with what is there. */
function hashingAdapter({ db, clock }: { db: Db; clock: Clock }): Adapter {
  const lookup = db
    .select({ ...identityColumns, expiresAt: sessions.expiresAt })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(eq(sessions.tokenHash, parameter('tokenHash')))
    .prepare()

  return {
    async getSessionAndUser(token) {
      const found = lookup.get({ tokenHash: sha256(token) })
      if (!found) return [null, null]
      const expiresAt = found.expiresAt > clock.now() ? found.expiresAt : new Date(0)
      return [
        { id: token, userId: found.id, expiresAt, attributes: {} },
        { id: found.id, attributes: found },
      ]
    },
    async setSession({ id: token, userId }) {
      const now = clock.now()
      const row = { tokenHash: sha256(token), userId, createdAt: now, expiresAt: addDays(now, SESSION_DAYS) }
      await write(db, (tx) => tx.insert(sessions).values(row).run())
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
      await write(db, (tx) => tx.delete(sessions).where(lte(sessions.expiresAt, clock.now())).run())
    },
    // The 30 days are absolute: a session that is used does not live longer.
    async updateSessionExpiration() {},
    async getUserSessions() {
      throw new Error('Sessions are found by their token only')
    },
  }
}

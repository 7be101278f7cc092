import { eq } from 'drizzle-orm'
import type { Context } from 'hono'
import { AppError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Tx } from '../../../db/open.ts'
import type { WebEnv } from '../../../http/env.ts'
import { clearSessionCookies, readSessionTokens, setSessionCookies } from '../../../http/sessions/cookie.ts'
import { type KnownDevices, rememberDevice } from '../lockout/known-devices.ts'
import { type UserRow, users } from '../users/tables.ts'
import { SESSION_DAYS, type Sessions } from './sessions.ts'

export type StartSessionDeps = { log: Log; sessions: Sessions; knownDevices: KnownDevices; isHttps: boolean }

const MAX_USER_AGENT = 256

/**
 * Signs the browser in as `user`, the row as it was when the browser proved itself, whatever way: a new session in its
 * cookies. Those it came with end, so that nobody can plant a session of his own and share it. From now on the account
 * knows the browser.
 * @throws AppError `unauthenticated` when the account was closed, or its ways in have changed, since then.
 */
export async function startSession(c: Context<WebEnv>, deps: StartSessionDeps, user: UserRow): Promise<void> {
  const visitor = {
    userAgent: c.req.header('user-agent')?.slice(0, MAX_USER_AGENT) ?? null,
    address: c.env.address,
  }
  const token = await deps.sessions.create(user.id, visitor, (tx) => requireUnchanged(tx, user))
  for (const planted of readSessionTokens(c)) await deps.sessions.end(planted)
  setSessionCookies(c, token, { isHttps: deps.isHttps, maxAgeSeconds: SESSION_DAYS * 86_400 })
  rememberDevice(c, deps, user)
  const { requestId } = c.var
  deps.log.info({ requestId, userId: user.id, address: visitor.address, path: c.req.path }, 'signed in')
}

/** A reset that ends all sessions must also end the sign-in with the old password that is under way. */
function requireUnchanged(tx: Tx, user: UserRow): void {
  const now = tx.select().from(users).where(eq(users.id, user.id)).get()
  if (now && describeEntry(now) === describeEntry(user)) return
  throw new AppError('unauthenticated', 'The account has changed meanwhile. Sign in again.')
}

/** Everything that decides who may enter, as one text. */
function describeEntry(user: UserRow): string {
  const { passwordHash, disabledAt, externalSignInDisabledAt, twoFactorEnabledAt } = user
  return JSON.stringify([passwordHash, disabledAt, externalSignInDisabledAt, twoFactorEnabledAt])
}

/** Takes the session's cookies out of the browser; ending the session itself is the caller's. */
export function clearSessionCookie(c: Context<WebEnv>, deps: Pick<StartSessionDeps, 'isHttps'>): void {
  clearSessionCookies(c, deps.isHttps)
}

/** The token that the browser sent, whatever it is worth; behind a guard the session’s. */
export function readSessionToken(c: Context<WebEnv>): string | undefined {
  return readSessionTokens(c)[0]
}

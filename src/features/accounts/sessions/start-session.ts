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

const MAX_USER_AGENT = 256

/**
 * Signs the browser in as `user`, the account as it was when the credentials were checked. Ends the sessions whose
 * cookies the browser sent, so an attacker cannot plant a shared session, and sets the device cookie.
 * @throws AppError `unauthenticated` when the account was disabled or its credentials changed in the meantime.
 */
export async function startSession(
  c: Context<WebEnv>,
  deps: { log: Log; sessions: Sessions; knownDevices: KnownDevices; isHttps: boolean },
  user: UserRow,
): Promise<void> {
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

/** A password reset that ends all sessions must also stop concurrent sign-ins with the old password. */
function requireUnchanged(tx: Tx, user: UserRow): void {
  const now = tx.select().from(users).where(eq(users.id, user.id)).get()
  if (now && describeEntry(now) === describeEntry(user)) return
  throw new AppError('unauthenticated', 'The account has changed meanwhile. Sign in again.')
}

/** Serializes the columns that decide whether the account can sign in. */
function describeEntry(user: UserRow): string {
  const { passwordHash, disabledAt, externalSignInDisabledAt, twoFactorEnabledAt } = user
  return JSON.stringify([passwordHash, disabledAt, externalSignInDisabledAt, twoFactorEnabledAt])
}

/** Clears the session cookies; the caller ends the session. */
export function clearSessionCookie(c: Context<WebEnv>, deps: { isHttps: boolean }): void {
  clearSessionCookies(c, deps.isHttps)
}

/** Returns the token the browser sent, unverified unless a guard ran before. */
export function readSessionToken(c: Context<WebEnv>): string | undefined {
  return readSessionTokens(c)[0]
}

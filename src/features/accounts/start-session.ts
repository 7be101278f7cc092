import { eq } from 'drizzle-orm'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { AppError } from '../../core/errors.ts'
import type { Tx } from '../../db/open.ts'
import type { WebEnv } from '../../http/env.ts'
import { SESSION_COOKIE } from '../../http/session.ts'
import { type KnownDevices, rememberDevice } from './known-devices.ts'
import { SESSION_DAYS, type Sessions } from './sessions.ts'
import { type UserRow, users } from './tables.ts'

export type StartSessionDeps = { sessions: Sessions; knownDevices: KnownDevices; isHttps: boolean }

const MAX_USER_AGENT = 256

/**
 * Signs the browser in as `user`, the row as it was when the browser proved itself, whatever way: a new session in its
 * cookie. The one it came with ends, so that nobody can plant a session of his own and share it. From now on the account
 * knows the browser.
 * @throws AppError `unauthenticated` when the account was closed, or its ways in have changed, since then.
 */
export async function startSession(c: Context<WebEnv>, deps: StartSessionDeps, user: UserRow): Promise<void> {
  const planted = readSessionToken(c)
  const visitor = {
    userAgent: c.req.header('user-agent')?.slice(0, MAX_USER_AGENT) ?? null,
    address: c.env.address,
  }
  const token = await deps.sessions.create(user.id, visitor, (tx) => requireUnchanged(tx, user))
  if (planted) await deps.sessions.end(planted)
  setCookie(c, SESSION_COOKIE, token, { ...cookieFlags(deps), maxAge: SESSION_DAYS * 86_400 })
  rememberDevice(c, deps, user)
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

/** Takes the session's cookie out of the browser; ending the session itself is the caller's. */
export function clearSessionCookie(c: Context<WebEnv>, deps: Pick<StartSessionDeps, 'isHttps'>): void {
  deleteCookie(c, SESSION_COOKIE, cookieFlags(deps))
}

/** The token that the browser sent, whatever it is worth. */
export function readSessionToken(c: Context<WebEnv>): string | undefined {
  return getCookie(c, SESSION_COOKIE)
}

/** Spec 2: HttpOnly, SameSite=Lax, path `/`. `Secure` as soon as the app is reached over https. */
function cookieFlags({ isHttps }: Pick<StartSessionDeps, 'isHttps'>) {
  return { httpOnly: true, sameSite: 'Lax', path: '/', secure: isHttps } as const
}

import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { WebEnv } from '../../http/env.ts'
import { SESSION_COOKIE } from '../../http/session.ts'
import { SESSION_DAYS, type Sessions } from './sessions.ts'

export type StartSessionDeps = { sessions: Sessions; isHttps: boolean }

const MAX_USER_AGENT = 256

/**
 * Signs the browser in as `userId`: a new session in its cookie, whatever way it proved itself. The one it came with
 * ends, so that nobody can plant a session of his own and share it.
 */
export async function startSession(c: Context<WebEnv>, deps: StartSessionDeps, userId: string): Promise<void> {
  const planted = readSessionToken(c)
  const token = await deps.sessions.create(userId, {
    userAgent: c.req.header('user-agent')?.slice(0, MAX_USER_AGENT) ?? null,
    address: c.env.address,
  })
  if (planted) await deps.sessions.end(planted)
  setCookie(c, SESSION_COOKIE, token, { ...cookieFlags(deps), maxAge: SESSION_DAYS * 86_400 })
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

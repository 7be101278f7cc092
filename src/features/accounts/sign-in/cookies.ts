import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { CookieOptions } from 'hono/utils/cookie'
import type { WebEnv } from '../../../http/env.ts'
import { ATTEMPT_MS } from './attempts.ts'
import { PENDING_MS } from './pending.ts'

/** The two short-lived cookies of a sign-in that is not finished, with their lifetimes in seconds. */
const COOKIES = {
  /** Ties what comes back from a provider to the browser that went there. */
  'service-sign-in': ATTEMPT_MS / 1000,
  /** A sign-in that waits for its second factor. */
  'service-two-factor': PENDING_MS / 1000,
}
type Name = keyof typeof COOKIES

/** Over https the name begins with `__Host-`: no other host, and no http page, can plant it. */
export function setSignInCookie(c: Context<WebEnv>, isHttps: boolean, name: Name, value: string): void {
  setCookie(c, name, value, { ...flags(isHttps), maxAge: COOKIES[name] })
}

export function readSignInCookie(c: Context<WebEnv>, isHttps: boolean, name: Name): string | undefined {
  return (isHttps ? getCookie(c, name, 'host') : getCookie(c, name)) || undefined
}

export function clearSignInCookie(c: Context<WebEnv>, isHttps: boolean, name: Name): void {
  deleteCookie(c, name, flags(isHttps))
}

/** `Lax`, because the way back from a provider is a navigation from another site. */
function flags(isHttps: boolean): CookieOptions {
  const plain = { httpOnly: true, sameSite: 'Lax', path: '/', secure: isHttps } as const
  return isHttps ? { ...plain, prefix: 'host' } : plain
}

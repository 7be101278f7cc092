import type { Context } from 'hono'
import { deleteCookie, setCookie } from 'hono/cookie'
import { isSameSecret, sha256 } from '../../core/secrets.ts'

export const SESSION_COOKIE = 'service-session'
/**
 * Sent along over https. Only our own host can set a cookie with this prefix, whereas an agent's page below our domain
 * can plant the session cookie.
 */
const COMPANION_COOKIE = `__Host-${SESSION_COOKIE}`
/** Path folders in which planted cookies are expired. */
const MAX_FOLDERS = 8

/** Sets the session cookie, over https with its companion, and expires planted ones. */
export function setSessionCookies(
  c: Context,
  token: string,
  options: { isHttps: boolean; maxAgeSeconds: number },
): void {
  const flags = { ...flagsOf(options.isHttps), maxAge: options.maxAgeSeconds }
  setCookie(c, SESSION_COOKIE, token, flags)
  if (options.isHttps) setCookie(c, SESSION_COOKIE, companionOf(token), { ...flags, prefix: 'host' })
  if (readSessionTokens(c).length > 0) forgetPlanted(c)
}

export function clearSessionCookies(c: Context, isHttps: boolean): void {
  deleteCookie(c, SESSION_COOKIE, flagsOf(isHttps))
  if (isHttps) deleteCookie(c, SESSION_COOKIE, { ...flagsOf(isHttps), prefix: 'host' })
}

/** Returns every session token the browser sent, unverified. */
export function readSessionTokens(c: Context): string[] {
  return valuesOf(c.req.header('cookie') ?? '', SESSION_COOKIE)
}

/**
 * Returns the session token; null without one, over https without its companion, and when there are several. Several
 * mean a planted cookie, which is expired so that the next request works.
 */
export function findSessionToken(c: Context, isHttps: boolean): string | null {
  const header = c.req.header('cookie')
  if (!header) return null
  const [token, ...others] = valuesOf(header, SESSION_COOKIE)
  if (others.length > 0) forgetPlanted(c)
  if (!token || others.length > 0) return null
  return isHttps && !isCompanion(valuesOf(header, COMPANION_COOKIE), token) ? null : token
}

/** Returns the companion of a token; it is bound to the token, so an old companion validates no other session. */
export function companionOf(token: string): string {
  return sha256(`companion of ${token}`)
}

function isCompanion([companion, ...others]: string[], token: string): boolean {
  return companion !== undefined && others.length === 0 && isSameSecret(companion, companionOf(token))
}

/** Hono's reader returns only the first of several cookies. */
function valuesOf(header: string, name: string): string[] {
  if (!header.includes(name)) return []
  const values: string[] = []
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) values.push(pair.slice(at + 1).trim())
  }
  return values
}

/** Expires the cookie for every parent domain and path folder except our own. */
function forgetPlanted(c: Context): void {
  for (const domain of [null, ...domainsOf(c.req.header('host') ?? '')]) {
    for (const path of foldersOf(new URL(c.req.url).pathname)) {
      if (domain === null && path === '/') continue
      const place = `Path=${path}${domain === null ? '' : `; Domain=${domain}`}`
      // Browsers send a nameless cookie with the value `name=token` in the same form.
      for (const pair of [`${SESSION_COOKIE}=`, '=x'])
        c.header('set-cookie', `${pair}; Max-Age=0; ${place}`, { append: true })
    }
  }
}

/** Returns `a.b.c` and `b.c` for `a.b.c:443`; nothing for addresses and single labels. */
function domainsOf(host: string): string[] {
  const name = host.replace(/\.?(?::\d*)?$/, '')
  if (/^[\d.]+$|^\[/.test(name)) return []
  const labels = name.split('.')
  return labels.slice(0, -1).map((_label, index) => labels.slice(index).join('.'))
}

/** Returns `/`, `/api`, `/api/` and `/api/auth` for `/api/auth`: all paths whose cookies are sent there. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(1, MAX_FOLDERS + 1)
  const folders = parts.map((_part, index) => `/${parts.slice(0, index + 1).join('/')}`)
  return ['/', ...folders.flatMap((folder, index) => (index < parts.length - 1 ? [folder, `${folder}/`] : [folder]))]
}

/** `Secure` only over https. */
function flagsOf(isHttps: boolean) {
  return { httpOnly: true, sameSite: 'Lax', path: '/', secure: isHttps } as const
}

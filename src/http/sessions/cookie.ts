import type { Context } from 'hono'
import { deleteCookie, setCookie } from 'hono/cookie'
import { isSameSecret, sha256 } from '../../core/secrets.ts'

export const SESSION_COOKIE = 'service-session'
/**
 * Goes with the session over https. Browsers take a name with this prefix from our own host alone, whereas a page of an
 * agent below our domain can plant the other one (decisions, 51).
 */
const COMPANION_COOKIE = `__Host-${SESSION_COOKIE}`
/** A planted cookie may belong to any folder of the path; beyond so many nobody has set one. */
const MAX_FOLDERS = 8

/** Signs the browser in: both cookies, or over http the one that there can be. What was planted there is forgotten. */
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

/** Every token that the browser sent, whatever it is worth. */
export function readSessionTokens(c: Context): string[] {
  return valuesOf(c.req.header('cookie') ?? '', SESSION_COOKIE)
}

/**
 * The token of the request's session. Null without one, over https without its companion, and when there are two: then
 * the browser is told to forget whatever was planted beside its own, which is good again with the next request.
 */
export function findSessionToken(c: Context, isHttps: boolean): string | null {
  const header = c.req.header('cookie')
  if (!header) return null
  const [token, ...others] = valuesOf(header, SESSION_COOKIE)
  if (others.length > 0) forgetPlanted(c)
  if (!token || others.length > 0) return null
  return isHttps && !isCompanion(valuesOf(header, COMPANION_COOKIE), token) ? null : token
}

/** Bound to the token: a companion that is left over makes nobody else's session good. */
export function companionOf(token: string): string {
  return sha256(`companion of ${token}`)
}

function isCompanion([companion, ...others]: string[], token: string): boolean {
  return companion !== undefined && others.length === 0 && isSameSecret(companion, companionOf(token))
}

/** Hono's own reader keeps the first of several, and so hides that there are others. */
function valuesOf(header: string, name: string): string[] {
  if (!header.includes(name)) return []
  const values: string[] = []
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) values.push(pair.slice(at + 1).trim())
  }
  return values
}

/** Expires the cookie for every domain above us and every folder of the path but where our own stands. */
function forgetPlanted(c: Context): void {
  for (const domain of [null, ...domainsOf(c.req.header('host') ?? '')]) {
    for (const path of foldersOf(new URL(c.req.url).pathname)) {
      if (domain === null && path === '/') continue
      const place = `Path=${path}${domain === null ? '' : `; Domain=${domain}`}`
      // Browsers send a nameless cookie whose value is `name=token` exactly like ours.
      for (const pair of [`${SESSION_COOKIE}=`, '=x'])
        c.header('set-cookie', `${pair}; Max-Age=0; ${place}`, { append: true })
    }
  }
}

/** `a.b.c` and `b.c` for `a.b.c:443`; nothing for addresses and names without a dot, which have no domain above. */
function domainsOf(host: string): string[] {
  const name = host.replace(/\.?(?::\d*)?$/, '')
  if (/^[\d.]+$|^\[/.test(name)) return []
  const labels = name.split('.')
  return labels.slice(0, -1).map((_label, index) => labels.slice(index).join('.'))
}

/** `/`, `/api`, `/api/`, `/api/auth` for `/api/auth`: every path whose cookies are sent there. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(1, MAX_FOLDERS + 1)
  const folders = parts.map((_part, index) => `/${parts.slice(0, index + 1).join('/')}`)
  return ['/', ...folders.flatMap((folder, index) => (index < parts.length - 1 ? [folder, `${folder}/`] : [folder]))]
}

/** Interface 2: HttpOnly, SameSite=Lax, path `/`. `Secure` as soon as the app is reached over https. */
function flagsOf(isHttps: boolean) {
  return { httpOnly: true, sameSite: 'Lax', path: '/', secure: isHttps } as const
}

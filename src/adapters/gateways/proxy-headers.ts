import { requestIdHeader } from '../../core/request-id.ts'

/** What concerns one connection only (RFC 9110, 7.6.1), and `expect`, which the server has answered already. */
const HOP_BY_HOP = [
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
const FORWARDED = /^(?:forwarded|x-forwarded-.*|x-real-ip)$/
/** The dashboard's cookies, also with the prefix they have over https. */
const OWN_COOKIE = /^(?:__Host-|__Secure-)?service-/

/** More than agents' servers take in a head, and far more than anybody needs. */
const MAX_COOKIE_CHARACTERS = 12 * 1024

/** Who calls, as the listener knows them. `proto` is how they reached us or the proxy before us. */
export type ProxyClient = { address: string | null; proto: 'http' | 'https' }

/**
 * A request's headers as the agent gets them: none of the dashboard's cookies, and no claim about who calls but ours. With
 * null there is none at all: OpenClaw answers 403 to a proxy that says for whom it asks, unless it was told of that proxy,
 * and then 403 to whatever the platform asks for itself.
 */
export function toAgentHeaders(given: Headers, client: ProxyClient | null): Headers {
  const headers = withoutHopByHop(given)
  for (const name of [...headers.keys()]) if (FORWARDED.test(name)) headers.delete(name)
  const cookies = withoutOwnCookies(given.get('cookie') ?? '')
  if (cookies && !hasTooManyCookies(given)) headers.set('cookie', cookies)
  else headers.delete('cookie')
  for (const [name, value] of Object.entries(requestIdHeader())) headers.set(name, value)
  if (!client) return headers
  if (client.address) headers.set('x-forwarded-for', client.address)
  headers.set('x-forwarded-host', given.get('host') ?? '')
  headers.set('x-forwarded-proto', client.proto)
  return headers
}

/**
 * Has some page filled the browser with cookies, its own or another agent's? Agents never see such ones, because no server
 * would take the request; whoever answers it clears them.
 */
export function hasTooManyCookies(given: Headers): boolean {
  return (given.get('cookie')?.length ?? 0) > MAX_COOKIE_CHARACTERS
}

/**
 * An agent's headers as the caller gets them: its cookies are for its own host alone, and it clears nobody's site data,
 * which for cookies would reach the dashboard's.
 */
export function toClientHeaders(given: Headers): Headers {
  const headers = withoutHopByHop(given)
  headers.delete('clear-site-data')
  headers.delete('set-cookie')
  for (const cookie of given.getSetCookie()) headers.append('set-cookie', withoutDomain(cookie))
  return headers
}

function withoutHopByHop(given: Headers): Headers {
  const headers = new Headers(given)
  const named = (given.get('connection') ?? '').split(',').map((name) => name.trim())
  for (const name of [...HOP_BY_HOP, ...named]) if (isToken(name)) headers.delete(name)
  return headers
}

/** `Headers` throws on names that no header can have. */
function isToken(name: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name)
}

function withoutOwnCookies(cookies: string): string {
  return cookies
    .split(';')
    .filter((cookie) => cookie.trim() !== '' && !OWN_COOKIE.test(cookie.trim()))
    .join(';')
    .trim()
}

function withoutDomain(cookie: string): string {
  return cookie
    .split(';')
    .filter((part, index) => index === 0 || !/^\s*domain\s*(?:=|$)/i.test(part))
    .join(';')
}

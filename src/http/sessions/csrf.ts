import { createHmac, randomBytes } from 'node:crypto'
import type { Context, Next } from 'hono'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { isSameSecret, sha256 } from '../../core/secrets.ts'
import { findRouteOptions } from '../endpoint.ts'
import { readSessionTokens } from './cookie.ts'

const LIFETIME_MS = 24 * 60 * 60_000
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

export type Csrf = ReturnType<typeof createCsrf>

/**
 * Refuses unsafe requests that a browser sends with the session cookie on behalf of another site (decisions, 7), unless
 * they carry a token made here. Routes that sign in are refused to other sites without a cookie as well: none may sign a
 * visitor in as somebody else. Requests with neither `Sec-Fetch-Site` nor `Origin` are not a browser's and pass.
 */
export function createCsrf(options: {
  key: Buffer
  clock: Clock
  isOwnOrigin: (origin: string, request: Request) => boolean
}) {
  const sign = (sessionToken: string, token: string) =>
    createHmac('sha256', options.key)
      .update(`${sha256(sessionToken)}.${token}`)
      .digest('hex')

  const isValid = (sessionToken: string, header: string | undefined) => {
    const [token = '', signed = ''] = header?.split(':') ?? []
    const expiresAt = Number.parseInt(token.split('.')[1] ?? '', 16)
    return isSameSecret(signed, sign(sessionToken, token)) && expiresAt > options.clock.now().getTime()
  }

  return {
    /** A token bound to the session: `<64 hex>.<expiry in hex>`, its HMAC, and both as the header wants them. */
    issue(sessionToken: string) {
      const token = `${randomBytes(32).toString('hex')}.${(options.clock.now().getTime() + LIFETIME_MS).toString(16)}`
      const signed = sign(sessionToken, token)
      return { token, signed, header: `${token}:${signed}` }
    },
    async check(c: Context, next: Next) {
      if (!SAFE_METHODS.has(c.req.method) && isCrossSite(c, options.isOwnOrigin)) {
        const [sessionToken] = readSessionTokens(c)
        const isAllowed = sessionToken
          ? isValid(sessionToken, c.req.header('x-csrf-token'))
          : !findRouteOptions(c).signsIn
        if (!isAllowed) throw new AppError('forbidden', 'Missing CSRF token')
      }
      return next()
    },
  }
}

function isCrossSite(c: Context, isOwnOrigin: (origin: string, request: Request) => boolean): boolean {
  const site = c.req.header('sec-fetch-site')
  if (site === 'cross-site' || site === 'same-site') return true
  const origin = c.req.header('origin')
  return origin !== undefined && !isOwnOrigin(origin, c.req.raw)
}

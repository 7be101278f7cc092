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
 * Rejects unsafe cross-site requests with a session cookie unless they carry a CSRF token. Sign-in routes reject them
 * without a cookie too, so no site can sign a visitor in to another account. Requests without `Sec-Fetch-Site` and
 * `Origin` are not from browsers and pass.
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
    /** Returns a token bound to the session, `<64 hex>.<expiry in hex>`, its HMAC, and both as the header value. */
    issue(sessionToken: string) {
      const token = `${randomBytes(32).toString('hex')}.${(options.clock.now().getTime() + LIFETIME_MS).toString(16)}`
      const signed = sign(sessionToken, token)
      return { token, signed, header: `${token}:${signed}` }
    },
    check(c: Context, next: Next) {
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

import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { rateLimiter } from 'hono-rate-limiter'
import { AppError } from '../core/errors.ts'
import { addressKey } from './address.ts'
import { refuses } from './answers.ts'
import type { BaseEnv, RateStanding } from './env.ts'

const WINDOW_MS = 60_000

/**
 * At most `limit` requests a minute from one address (or whatever `keyOf` tells apart), told in `RateLimit-*` headers
 * (Interface 4.1). With several limits on one route the headers tell the one with the fewest requests left.
 * @throws AppError `limited` with `message`.
 */
export function limitRate(
  limit: number | ((c: Context<BaseEnv>) => number),
  message: string,
  keyOf: (c: Context<BaseEnv>) => string = (c) => addressKey(c.env.address),
) {
  const createLimiter = () =>
    rateLimiter<BaseEnv>({
      windowMs: WINDOW_MS,
      limit,
      standardHeaders: false,
      keyGenerator: keyOf,
      handler: (c) => {
        const standing = c.get('rateLimit')
        if (standing) showLimit(c, standing)
        c.header('retry-after', String(secondsUntil(standing?.resetTime)))
        throw new AppError('limited', message)
      },
    })
  // With the first request that it counts: one that counts keeps a timer for ever.
  let limiter: ReturnType<typeof createLimiter> | undefined
  const middleware = createMiddleware<BaseEnv>((c, next) => {
    limiter ??= createLimiter()
    return limiter(c, () => {
      const standing = c.get('rateLimit')
      const shown = c.get('shownLimit')
      if (standing && (!shown || standing.remaining < shown.remaining)) showLimit(c, standing)
      return next()
    })
  })
  return refuses(middleware, 'limited')
}

function showLimit(c: Context<BaseEnv>, standing: RateStanding): void {
  c.set('shownLimit', standing)
  c.header('ratelimit-policy', `${standing.limit};w=${WINDOW_MS / 1000}`)
  c.header('ratelimit-limit', String(standing.limit))
  c.header('ratelimit-remaining', String(standing.remaining))
  c.header('ratelimit-reset', String(secondsUntil(standing.resetTime)))
}

function secondsUntil(time: Date | undefined): number {
  return time ? Math.max(0, Math.ceil((time.getTime() - Date.now()) / 1000)) : WINDOW_MS / 1000
}

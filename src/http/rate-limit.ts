import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { rateLimiter } from 'hono-rate-limiter'
import QuickLRU from 'quick-lru'
import { AppError } from '../core/errors.ts'
import { sha256 } from '../core/secrets.ts'
import { addressKey } from './address.ts'
import { describeMiddleware } from './endpoint.ts'
import type { BaseEnv, RateStanding } from './env.ts'

const WINDOW_MS = 60_000
/** Beyond this number of clients per minute the least recent are forgotten. */
const MAX_KEYS = 5000
const MAX_KEY_LENGTH = 100

/**
 * Limits requests per minute and address (or `keyOf`), and sets `RateLimit-*` headers. With several limits on a route,
 * the headers show the one with the fewest requests left.
 * @throws AppError `limited` with `message`.
 */
export function limitRate(
  limit: number | ((c: Context<BaseEnv>) => number),
  message: string,
  keyOf: (c: Context<BaseEnv>) => string = (c) => addressKey(c.env.address),
) {
  const limiter = rateLimiter<BaseEnv>({
    windowMs: WINDOW_MS,
    limit,
    standardHeaders: false,
    keyGenerator: keyOf,
    store: createStore(),
    handler: (c) => {
      const standing = c.get('rateLimit')
      if (standing) showLimit(c, standing)
      c.header('retry-after', String(secondsUntil(standing?.resetTime)))
      throw new AppError('limited', message)
    },
  })
  const middleware = createMiddleware<BaseEnv>((c, next) =>
    limiter(c, () => {
      const standing = c.get('rateLimit')
      const shown = c.get('shownLimit')
      if (standing && (!shown || standing.remaining < shown.remaining)) showLimit(c, standing)
      return next()
    }),
  )
  return describeMiddleware(middleware, { errors: ['limited'] })
}

/**
 * Limits requests with a wrong credential per minute and address; further ones get 429 instead of 401 or 403. Valid
 * credentials are not counted, because the agents of a machine share its address.
 */
export function limitWrongCredentials(limit: number, isWrong: (error: AppError, c: Context<BaseEnv>) => boolean) {
  const failures = createStore()
  const middleware = createMiddleware<BaseEnv>(async (c, next) => {
    await next()
    if (!(c.error instanceof AppError) || !isWrong(c.error, c)) return
    const { totalHits, resetTime } = failures.increment(addressKey(c.env.address))
    if (totalHits <= limit) return
    const retryAfter = String(secondsUntil(resetTime))
    throw new AppError('limited', 'Too many requests with a wrong credential', { retryAfter }, { cause: c.error })
  })
  return describeMiddleware(middleware, { errors: ['limited'] })
}

/** Counts requests by key per minute. Clients choose keys, so number and length are limited. */
function createStore() {
  const counts = new QuickLRU<string, { totalHits: number; resetTime: Date }>({ maxSize: MAX_KEYS })
  const toName = (key: string) => (key.length <= MAX_KEY_LENGTH ? key : sha256(key))
  const find = (name: string) => {
    const known = counts.get(name)
    return known && known.resetTime.getTime() > Date.now() ? known : null
  }
  return {
    increment(key: string) {
      const name = toName(key)
      const count = find(name) ?? { totalHits: 0, resetTime: new Date(Date.now() + WINDOW_MS) }
      count.totalHits += 1
      counts.set(name, count)
      return count
    },
    decrement(key: string) {
      const count = find(toName(key))
      if (count && count.totalHits > 0) count.totalHits -= 1
    },
    resetKey(key: string) {
      counts.delete(toName(key))
    },
  }
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

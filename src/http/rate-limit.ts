import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
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
  const count = createCounter()
  const middleware = createMiddleware<BaseEnv>((c, next) => {
    const { hits, resetMs } = count(keyOf(c))
    const most = typeof limit === 'function' ? limit(c) : limit
    const standing = { limit: most, remaining: Math.max(most - hits, 0), resetMs }
    if (hits > most) {
      showLimit(c, standing)
      c.header('retry-after', String(secondsUntil(resetMs)))
      throw new AppError('limited', message)
    }
    const shown = c.get('shownLimit')
    if (!shown || standing.remaining < shown.remaining) showLimit(c, standing)
    return next()
  })
  return describeMiddleware(middleware, { errors: ['limited'] })
}

/**
 * Limits requests with a wrong credential per minute and address; further ones get 429 instead of 401 or 403. Valid
 * credentials are not counted, because the agents of a machine share its address.
 */
export function limitWrongCredentials(limit: number, isWrong: (error: AppError, c: Context<BaseEnv>) => boolean) {
  const count = createCounter()
  const middleware = createMiddleware<BaseEnv>(async (c, next) => {
    await next()
    if (!(c.error instanceof AppError) || !isWrong(c.error, c)) return
    const { hits, resetMs } = count(addressKey(c.env.address))
    if (hits <= limit) return
    const retryAfter = String(secondsUntil(resetMs))
    throw new AppError('limited', 'Too many requests with a wrong credential', { retryAfter }, { cause: c.error })
  })
  return describeMiddleware(middleware, { errors: ['limited'] })
}

/**
 * Refuses requests of all addresses while more than `limit` failed within a minute, so that many addresses together
 * cannot guess a secret.
 * @throws AppError `limited` with `message`.
 */
export function limitFailures(limit: number, message: string, isFailure: (error: AppError) => boolean) {
  let [failures, resetMs] = [0, 0]
  const middleware = createMiddleware<BaseEnv>(async (c, next) => {
    const now = Date.now()
    if (now >= resetMs) [failures, resetMs] = [0, now + WINDOW_MS]
    if (failures >= limit) throw new AppError('limited', message, { retryAfter: String(secondsUntil(resetMs)) })
    await next()
    if (c.error instanceof AppError && isFailure(c.error)) failures += 1
  })
  return describeMiddleware(middleware, { errors: ['limited'] })
}

/** Counts requests by key per minute. Clients choose keys, so number and length are limited. */
function createCounter(): (key: string) => { hits: number; resetMs: number } {
  const counts = new QuickLRU<string, { hits: number; resetMs: number }>({ maxSize: MAX_KEYS })
  return (key) => {
    const name = key.length <= MAX_KEY_LENGTH ? key : sha256(key)
    const now = Date.now()
    const known = counts.get(name)
    // A clock that was set back must not make a window longer.
    if (known && known.resetMs > now && known.resetMs <= now + WINDOW_MS) {
      known.hits += 1
      return known
    }
    const count = { hits: 1, resetMs: now + WINDOW_MS }
    counts.set(name, count)
    return count
  }
}

function showLimit(c: Context<BaseEnv>, standing: RateStanding): void {
  c.set('shownLimit', standing)
  c.header('ratelimit-policy', `${standing.limit};w=${WINDOW_MS / 1000}`)
  c.header('ratelimit-limit', String(standing.limit))
  c.header('ratelimit-remaining', String(standing.remaining))
  c.header('ratelimit-reset', String(secondsUntil(standing.resetMs)))
}

function secondsUntil(timeMs: number): number {
  return Math.max(0, Math.ceil((timeMs - Date.now()) / 1000))
}

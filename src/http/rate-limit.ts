import type { Context } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import { AppError } from '../core/errors.ts'
import { addressKey } from './address.ts'
import type { BaseEnv } from './env.ts'

const WINDOW_MS = 60_000

/**
 * At most `limit` requests a minute from one address (or whatever `keyOf` tells apart), told in `RateLimit-*` headers (Spec 4.1). The web app's own calls
 * to the backend pass: they were counted when the user made them.
 * @throws AppError `limited` with `message`.
 */
export function limitRate(
  limit: number | ((c: Context<BaseEnv>) => number),
  message: string,
  keyOf: (c: Context<BaseEnv>) => string = (c) => addressKey(c.env.address),
) {
  return rateLimiter<BaseEnv>({
    windowMs: WINDOW_MS,
    limit,
    keyGenerator: keyOf,
    skip: (c) => c.env.principal !== undefined,
    handler: () => {
      throw new AppError('limited', message)
    },
  })
}

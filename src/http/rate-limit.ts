import { rateLimiter } from 'hono-rate-limiter'
import { AppError } from '../core/errors.ts'
import { addressKey } from './address.ts'
import type { BaseEnv } from './env.ts'

const WINDOW_MS = 60_000

/**
 * At most `limit` requests a minute from one address, told in `RateLimit-*` headers (Spec 4.1). The web app's own calls
 * to the backend pass: they were counted when the user made them.
 * @throws AppError `limited` with `message`.
 */
export function limitRate(limit: number, message: string) {
  return rateLimiter<BaseEnv>({
    windowMs: WINDOW_MS,
    limit,
    keyGenerator: (c) => addressKey(c.env.address),
    skip: (c) => c.env.principal !== undefined,
    handler: () => {
      throw new AppError('limited', message)
    },
  })
}

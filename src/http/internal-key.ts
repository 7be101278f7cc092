import type { Context, MiddlewareHandler } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../core/errors.ts'
import { isSameSecret } from '../core/secrets.ts'
import { describeMiddleware } from './endpoint.ts'
import type { BackendEnv, SignedInUser } from './env.ts'

export type InternalKeyGuard = MiddlewareHandler<BackendEnv>

/** Returns the user of a forwarded identity header, or null. */
export type FindUserById = (id: string) => SignedInUser | null

/**
 * Requires the operator's bearer. `c.var.principal` is the operator, or the user in `x-user-id`.
 * @throws AppError `unauthenticated` without a bearer, `forbidden` for a wrong one, `misconfigured` when no key is set.
 */
export function requireInternalKey(internalApiKey: string | undefined, findUserById: FindUserById) {
  return describeMiddleware(
    createMiddleware<BackendEnv>(async (c, next) => {
      const principal = principalOf(c, internalApiKey, findUserById)
      c.set('principal', principal)
      c.set('holder', principal.kind === 'user' ? principal.user.id : 'operator')
      await next()
    }),
    { guard: 'internal-key' },
  )
}

/** Variant for routes whose clients expect 401 for a wrong key. @throws AppError `unauthenticated`. */
export function refuseWrongKeyAsUnauthorized(guard: InternalKeyGuard): InternalKeyGuard {
  return describeMiddleware(
    createMiddleware<BackendEnv>(async (c, next) => {
      await guard(c, async () => undefined).catch((error: unknown) => {
        if (error instanceof AppError && error.kind === 'forbidden')
          throw new AppError('unauthenticated', 'Unauthorized')
        throw error
      })
      await next()
    }),
    { guard: 'internal-key' },
  )
}

function principalOf(c: Context<BackendEnv>, internalApiKey: string | undefined, findUserById: FindUserById) {
  requireKey(readBearer(c.req.header('authorization')), internalApiKey)
  const userId = c.req.header('x-user-id')
  if (!userId) return { kind: 'operator' } as const
  const user = findUserById(userId)
  if (!user) throw new AppError('forbidden', 'Forbidden')
  return { kind: 'user', user } as const
}

/** @throws AppError as `requireInternalKey`. */
export function requireKey(token: string | null, internalApiKey: string | undefined): void {
  if (!internalApiKey) throw new AppError('misconfigured', 'Server misconfigured')
  if (token === null) throw new AppError('unauthenticated', 'Unauthorized')
  if (!isSameSecret(token, internalApiKey)) throw new AppError('forbidden', 'Forbidden')
}

/** Returns whether the bearer itself was rejected, not the request of its holder. */
export function isWrongBearer(error: AppError, c: Context): boolean {
  if (error.kind === 'unauthenticated') return true
  const isOwnToken = /^(?:sk_|agt_)/.test(readBearer(c.req.header('authorization')) ?? '')
  return !isOwnToken && (error.kind === 'forbidden' || error.kind === 'misconfigured')
}

/** Returns the token after `Bearer `, null without one. */
export function readBearer(header: string | undefined): string | null {
  return header?.startsWith('Bearer ') ? header.slice('Bearer '.length).trim() : null
}

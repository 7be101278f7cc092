import type { Context, MiddlewareHandler } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../core/errors.ts'
import { isSameSecret } from '../core/secrets.ts'
import { describeMiddleware } from './endpoint.ts'
import type { BackendEnv, SignedInUser } from './env.ts'

export type InternalKeyGuard = MiddlewareHandler<BackendEnv>

/** Finds the user that forwarded identity headers name; null when there is none. */
export type FindUserById = (id: string) => SignedInUser | null

/**
 * Lets in the operator's bearer (Interface 5, decisions 1 and 2). Behind it `c.var.principal` says
 * for whom: with the key alone for the operator, with `x-user-id` for that user as the database knows them.
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

/** The guard for routes whose clients expect 401 for a wrong key too (decisions, 1). @throws AppError `unauthenticated`. */
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

/** Returns whether a route refused the bearer itself, and not only what its holder asked for. */
export function isWrongBearer(error: AppError, c: Context): boolean {
  if (error.kind === 'unauthenticated') return true
  const isOwnToken = /^(?:sk_|agt_)/.test(readBearer(c.req.header('authorization')) ?? '')
  return !isOwnToken && (error.kind === 'forbidden' || error.kind === 'misconfigured')
}

/** The token after `Bearer `, or null when the header is missing or has another form. */
export function readBearer(header: string | undefined): string | null {
  return header?.startsWith('Bearer ') ? header.slice('Bearer '.length).trim() : null
}

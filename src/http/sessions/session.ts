import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../../core/errors.ts'
import { requireScope, type Scope } from '../../core/scopes.ts'
import { describeMiddleware, findRouteOptions } from '../endpoint.ts'
import type { BackendEnv, SignedInUser, WebEnv } from '../env.ts'
import { readBearer } from '../internal-key.ts'
import { findSessionToken } from './cookie.ts'

/** Looks up the owners of credentials. */
type Lookups = {
  findUserBySession(token: string): Promise<SignedInUser | null>
  /** Empty `scopes` do not restrict the key. */
  findUserByKey(apiKey: string, address: string | null): { user: SignedInUser; scopes: readonly string[] } | null
}

export type Guards = ReturnType<typeof createGuards>

/** Creates the guards of the web API. Each route uses exactly one. */
export function createGuards(lookups: Lookups, options: { isHttps: boolean }) {
  const findByCookie = async (c: Context) => {
    const token = findSessionToken(c, options.isHttps)
    return token ? lookups.findUserBySession(token) : null
  }
  const find = async (c: Context) => {
    const bearer = readBearer(c.req.header('authorization'))
    return bearer?.startsWith('sk_') ? findByKey(c, bearer) : findByCookie(c)
  }
  const findByKey = (c: Context, bearer: string) => {
    const holder = lookups.findUserByKey(bearer, c.env?.address ?? null)
    if (holder && holder.scopes.length > 0) requireScope(holder.scopes, scopeOf(c))
    return holder?.user ?? null
  }
  const sessionGuard = (message: string) =>
    describeMiddleware(
      createMiddleware<WebEnv>(async (c, next) => {
        enter(c, required(await findByCookie(c), message))
        await next()
      }),
      { guard: 'session' },
    )
  return {
    /**
     * Accepts a session or the user's `sk_` key whose scopes permit the request.
     * @throws AppError `unauthenticated`, `forbidden` SCOPE_REQUIRED.
     */
    signedIn: describeMiddleware(
      createMiddleware<WebEnv>(async (c, next) => {
        enter(c, required(await find(c)))
        await next()
      }),
      { guard: 'signed-in' },
    ),
    /** `signedIn` for routes of both APIs: the user is the principal. @throws AppError as `signedIn`. */
    owner: describeMiddleware(
      createMiddleware<BackendEnv>(async (c, next) => {
        const user = required(await find(c))
        c.set('principal', { kind: 'user', user })
        c.set('holder', user.id)
        await next()
      }),
      { guard: 'signed-in' },
    ),
    /**
     * Accepts a session only, for routes that manage passwords, keys and sign-in.
     * @throws AppError `unauthenticated`.
     */
    withSession: sessionGuard('Unauthorized'),
    /** `withSession` with another message, for routes whose clients expect it. @throws AppError `unauthenticated` with `message`. */
    withSessionOr: sessionGuard,
    /**
     * Accepts an admin's session; API keys cannot administer.
     * @throws AppError `unauthenticated`, `forbidden` ADMIN_REQUIRED.
     */
    admin: describeMiddleware(
      createMiddleware<WebEnv>(async (c, next) => {
        const user = required(await findByCookie(c))
        if (!user.isAdmin) throw new AppError('forbidden', 'Admin access required.', { code: 'ADMIN_REQUIRED' })
        enter(c, user)
        await next()
      }),
      { guard: 'admin' },
    ),
    /**
     * Returns the user of the key or session, or null, for public routes.
     * @throws AppError `forbidden` SCOPE_REQUIRED.
     */
    findUser: find,
    /** Returns the user of the session cookie, or null. */
    findSession: findByCookie,
    /** Returns the owner of a key, or null; for connections that outlive their request. */
    findKeyOwner: (apiKey: string, address: string | null) => lookups.findUserByKey(apiKey, address)?.user ?? null,
  }
}

function enter(c: Context<WebEnv>, user: SignedInUser): void {
  c.set('user', user)
  c.set('holder', user.id)
}

function required(user: SignedInUser | null, message = 'Unauthorized'): SignedInUser {
  if (!user) throw new AppError('unauthenticated', message)
  return user
}

/** Returns the scope the route needs, null when it needs an unrestricted key. */
function scopeOf(c: Context): Scope | 'any' | null {
  return findRouteOptions(c).scope ?? (c.req.method === 'GET' || c.req.method === 'HEAD' ? 'read' : null)
}

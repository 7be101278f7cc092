import type { Context, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import type { Scope } from '../core/scopes.ts'
import type { BaseEnv } from './env.ts'

/** What a route says of itself beside its guard. Whatever it leaves out has the strict default. */
export type RouteTraits = {
  /**
   * The scope that a limited key needs; `any` when each is enough. By default reading needs `read`, and everything else
   * needs a key without limits.
   */
  scope?: Scope | 'any'
  /** Of which media type a body is that is read as it comes, without a schema. */
  bodyType?: string
  /** How large a body may be, where that is more than the 1 MB of Interface 4.1. */
  maxBodyBytes?: number
  /** How many values a JSON body may have, where that is more than usual. */
  maxBodyValues?: number
  /** A sign-in is refused from another site even without a session; other routes only with one. */
  signsIn?: true
  /** Writes of users are refused while the disk is full, unless the route says this. */
  worksOnFullDisk?: true
}

const DEFAULTS: RouteTraits = {}
const declared = new WeakMap<object, RouteTraits>()

/**
 * Declares what a route says of itself, once, where it is registered: `app.post(path, routeTraits({ … }), guard, …)`. The
 * layers before the route read it with `findRouteTraits`, and `tests/endpoints.txt` shows it.
 */
export function routeTraits(traits: RouteTraits): MiddlewareHandler<BaseEnv> {
  const declaration: MiddlewareHandler<BaseEnv> = (_c, next) => next()
  declared.set(declaration, traits)
  return declaration
}

/** What the route that will answer says of itself; the defaults where it says nothing, and where no route is found. */
export function findRouteTraits(c: Context): RouteTraits {
  for (const { handler } of matchedRoutes(c)) {
    const target = findTargetHandler(handler)
    const traits = declared.get(target)
    if (traits) return traits
    // The first handler answers: what later routes for the same path say does not count.
    if (!isMiddleware(target)) return DEFAULTS
  }
  return DEFAULTS
}

/** What `routeTraits` gave this very function, or undefined. */
export function declaredTraits(handler: object): RouteTraits | undefined {
  return declared.get(handler)
}

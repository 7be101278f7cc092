import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import type { ErrorKind } from '../../core/errors.ts'
import { descriptionOf, type Endpoint, endpointOf, type ValidatedPart } from '../../http/endpoint.ts'

/** One handler as Hono stores it. */
export type Registered = { method: string; path: string; handler: Handler }
type Handler = Parameters<typeof findTargetHandler>[0]

/** A registered route with its declaration and the descriptions of the middleware before it. `path` has no parameter patterns. */
export type DeclaredRoute = {
  method: string
  path: string
  api: string
  guards: string[]
  endpoint: Endpoint | undefined
  parts: ValidatedPart[]
  /** Errors of the middleware. */
  errors: ErrorKind[]
}

/** Returns every route of the app in registration order. The first segment of Hono's path names the API. */
export function listRoutes(registered: readonly Registered[]): DeclaredRoute[] {
  const routes = new Map<string, DeclaredRoute>()
  for (const [index, route] of registered.entries()) {
    const key = `${route.method} ${route.path}`
    // Hono runs the first of two handlers for one path.
    if (isMiddleware(findTargetHandler(route.handler)) || routes.has(key)) continue
    const before = registered.slice(0, index).filter((earlier) => isFor(earlier, route))
    routes.set(key, describe(route, before))
  }
  return [...routes.values()]
}

function describe({ method, path }: Registered, before: readonly Registered[]): DeclaredRoute {
  const targets = before.map(({ handler }) => findTargetHandler(handler))
  const [, api = '', rest = ''] = /^\/([^/]+)(\/.*)?$/.exec(path) ?? []
  const descriptions = targets.map(descriptionOf)
  return {
    method,
    path: (rest || '/').replaceAll(/\{[^{}]*\}/g, ''),
    api,
    guards: [...new Set(descriptions.flatMap(({ guard }) => guard ?? []))].sort(),
    endpoint: targets.map(endpointOf).find((declaration) => declaration !== undefined),
    parts: descriptions.flatMap(({ validates }) => validates ?? []),
    errors: descriptions.flatMap(({ errors = [] }) => errors),
  }
}

/** Returns whether `earlier` runs before `route`: same path, or `use` on a parent path. */
function isFor(earlier: Registered, route: Registered): boolean {
  if (earlier.method !== 'ALL' && earlier.method !== route.method) return false
  if (earlier.path === route.path || earlier.path === '*') return true
  return earlier.path.endsWith('/*') && `${route.path}/`.startsWith(earlier.path.slice(0, -1))
}

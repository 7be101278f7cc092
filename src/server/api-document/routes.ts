import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import type { ErrorKind } from '../../core/errors.ts'
import { type Answers, type CheckedPart, checkedPart, declaredAnswers, declaredRefusals } from '../../http/answers.ts'
import { guardName } from '../../http/guard-label.ts'
import { declaredTraits, type RouteTraits } from '../../http/route-traits.ts'

/** What Hono keeps of each `app.get(path, …)` argument, in the order of registration. */
export type Registered = { method: string; path: string; handler: Handler }
/** Hono's own word for any of them. */
type Handler = Parameters<typeof findTargetHandler>[0]

/** A route with all that it and the middleware before it declare. `path` is without the face and the patterns of its parameters. */
export type DeclaredRoute = {
  method: string
  path: string
  face: string
  guards: string[]
  traits: RouteTraits[]
  answers: Answers | undefined
  parts: CheckedPart[]
  refusals: ErrorKind[]
}

/** Every route of the app, in the order of registration; the first part of Hono's path is the face. */
export function listRoutes(registered: readonly Registered[]): DeclaredRoute[] {
  const routes = new Map<string, DeclaredRoute>()
  for (const [index, route] of registered.entries()) {
    const key = `${route.method} ${route.path}`
    // Of two handlers for one path the first answers.
    if (isMiddleware(findTargetHandler(route.handler)) || routes.has(key)) continue
    const before = registered.slice(0, index).filter((earlier) => isFor(earlier, route))
    routes.set(key, describe(route, before))
  }
  return [...routes.values()]
}

function describe({ method, path }: Registered, before: readonly Registered[]): DeclaredRoute {
  const targets = before.map(({ handler }) => findTargetHandler(handler))
  const [, face = '', rest = ''] = /^\/([^/]+)(\/.*)?$/.exec(path) ?? []
  const guards = before.map(({ handler }) => guardName(handler) ?? guardName(findTargetHandler(handler)))
  return {
    method,
    path: (rest || '/').replaceAll(/\{[^{}]*\}/g, ''),
    face,
    guards: [...new Set(guards.filter((name) => name !== undefined))].sort(),
    traits: targets.flatMap((target) => declaredTraits(target) ?? []),
    answers: targets.map(declaredAnswers).find((answers) => answers !== undefined),
    parts: targets.flatMap((target) => checkedPart(target) ?? []),
    refusals: targets.flatMap(declaredRefusals),
  }
}

/** Is `earlier` run before `route`: registered for the same path, or with `use` on a path above it? */
function isFor(earlier: Registered, route: Registered): boolean {
  if (earlier.method !== 'ALL' && earlier.method !== route.method) return false
  if (earlier.path === route.path || earlier.path === '*') return true
  return earlier.path.endsWith('/*') && `${route.path}/`.startsWith(earlier.path.slice(0, -1))
}

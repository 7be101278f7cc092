import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import { guardName } from '../src/http/guard-label.ts'
import { declaredTraits } from '../src/http/route-traits.ts'

/** What Hono keeps of each `app.get(path, …)` argument, in the order of registration. */
type Registered = { method: string; path: string; handler: Handler }
/** Hono's own word for any of them. */
type Handler = Parameters<typeof findTargetHandler>[0]

/**
 * One line a route, sorted: `METHOD PATH PORT GUARD TRAIT…`, where the first part of Hono's path is the port.
 * GUARD joins every labelled guard before the handler with `+`; a route without one is `public`. Each TRAIT is what
 * `routeTraits` says of the route.
 */
export function describeRoutes(registered: readonly Registered[]): string[] {
  const lines = new Map<string, string>()
  for (const [index, route] of registered.entries()) {
    const key = `${route.method} ${route.path}`
    // Of two handlers for one path the first answers.
    if (isMiddleware(findTargetHandler(route.handler)) || lines.has(key)) continue
    const before = registered.slice(0, index).filter((earlier) => isFor(earlier, route))
    const guards = before.map(toGuard)
    const [, port = '', path = ''] = /^\/([^/]+)(\/.*)?$/.exec(route.path) ?? []
    const names = [...new Set(guards.filter((name) => name !== undefined))].sort()
    const words = [route.method, path || '/', port, names.join('+') || 'public', ...before.flatMap(toTraits)]
    lines.set(key, words.join(' '))
  }
  return [...lines.values()].sort(byPortAndPath)
}

/** Is `earlier` run before `route`: registered for the same path, or with `use` on a path above it? */
function isFor(earlier: Registered, route: Registered): boolean {
  if (earlier.method !== 'ALL' && earlier.method !== route.method) return false
  if (earlier.path === route.path || earlier.path === '*') return true
  return earlier.path.endsWith('/*') && `${route.path}/`.startsWith(earlier.path.slice(0, -1))
}

function toGuard({ handler }: Registered): string | undefined {
  return guardName(handler) ?? guardName(findTargetHandler(handler))
}

function toTraits({ handler }: Registered): string[] {
  return Object.entries(declaredTraits(findTargetHandler(handler)) ?? {}).map(([name, value]) =>
    value === true ? name : `${name}=${value}`,
  )
}

function byPortAndPath(left: string, right: string): number {
  return compare(sortKey(left), sortKey(right))
}

function sortKey(line: string): string {
  const [method, path, port] = line.split(' ')
  return `${port} ${path} ${method}`
}

/** By code unit, so that the order does not depend on the machine's language. */
function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right)
}

import { guardName } from '../src/http/guard-label.ts'

/** What Hono keeps of each `app.get(path, …)` argument, in the order of registration. */
type Registered = { method: string; path: string; handler: object }

/**
 * One line a route, sorted: `METHOD PATH PORT GUARD`, where the first part of Hono's path is the port.
 * GUARD joins every labelled guard before the handler with `+`; a route without one is `public`.
 */
export function describeRoutes(registered: readonly Registered[]): string[] {
  const lines = new Map<string, string>()
  for (const [index, route] of registered.entries()) {
    const key = `${route.method} ${route.path}`
    // Of two handlers for one path the first answers.
    if (isMiddleware(route.handler) || lines.has(key)) continue
    const guards = registered
      .slice(0, index)
      .filter((earlier) => isFor(earlier, route))
      .map(toGuard)
    const [, port = '', path = ''] = /^\/([^/]+)(\/.*)?$/.exec(route.path) ?? []
    const names = [...new Set(guards.filter((name) => name !== undefined))].sort()
    lines.set(key, `${route.method} ${path || '/'} ${port} ${names.join('+') || 'public'}`)
  }
  return [...lines.values()].sort(byPortAndPath)
}

/** Hono's own test of what `app.routes` holds: a handler takes the context, a middleware also takes `next`. */
function isMiddleware(handler: object): boolean {
  const inner = unwrap(handler)
  return typeof inner === 'function' && inner.length > 1
}

/** Is `earlier` run before `route`: registered for the same path, or with `use` on a path above it? */
function isFor(earlier: Registered, route: Registered): boolean {
  if (earlier.method !== 'ALL' && earlier.method !== route.method) return false
  if (earlier.path === route.path || earlier.path === '*') return true
  return earlier.path.endsWith('/*') && `${route.path}/`.startsWith(earlier.path.slice(0, -1))
}

function toGuard({ handler }: Registered): string | undefined {
  return guardName(handler) ?? guardName(unwrap(handler))
}

/** A sub-app with its own error handler wraps what it mounts and leaves the original under this name. */
function unwrap(handler: object): object {
  return '__COMPOSED_HANDLER' in handler && typeof handler.__COMPOSED_HANDLER === 'function'
    ? unwrap(handler.__COMPOSED_HANDLER)
    : handler
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

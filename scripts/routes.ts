import { type DeclaredRoute, listRoutes, type Registered } from '../src/server/api-document/routes.ts'

/**
 * One line a route, sorted: `METHOD PATH PORT GUARD TRAIT…`, where the first part of Hono's path is the port.
 * GUARD joins every labelled guard before the handler with `+`; a route without one is `public`. Each TRAIT is what
 * `routeTraits` says of the route.
 */
export function describeRoutes(registered: readonly Registered[]): string[] {
  return listRoutes(registered).map(toLine).sort(byPortAndPath)
}

function toLine({ method, path, face, guards, traits }: DeclaredRoute): string {
  const words = traits.flatMap((trait) =>
    Object.entries(trait).map(([name, value]) => (value === true ? name : `${name}=${value}`)),
  )
  return [method, path, face, guards.join('+') || 'public', ...words].join(' ')
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

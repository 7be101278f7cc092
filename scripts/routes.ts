import { type DeclaredRoute, listRoutes, type Registered } from '../src/server/api-document/routes.ts'

/** The options of a route that `tests/endpoints.txt` shows, in this order. */
const SHOWN = ['scope', 'bodyType', 'maxBodyBytes', 'maxBodyValues', 'signsIn', 'worksOnFullDisk'] as const

/**
 * Returns one sorted line per route: `METHOD PATH API GUARD OPTION…`. GUARD joins the guards before the handler with `+`, or
 * is `public`.
 */
export function describeRoutes(registered: readonly Registered[]): string[] {
  return listRoutes(registered).map(toLine).sort(byPortAndPath)
}

function toLine({ method, path, api, guards, endpoint }: DeclaredRoute): string {
  const options = SHOWN.flatMap((name) => {
    const value = endpoint?.[name]
    return value === undefined ? [] : [value === true ? name : `${name}=${value}`]
  })
  return [method, path, api, guards.join('+') || 'public', ...options].join(' ')
}

function byPortAndPath(left: string, right: string): number {
  return compare(sortKey(left), sortKey(right))
}

function sortKey(line: string): string {
  const [method, path, port] = line.split(' ')
  return `${port} ${path} ${method}`
}

/** Compares by code unit, independent of the locale. */
function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right)
}

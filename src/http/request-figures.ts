import type { Context } from 'hono'
import { matchedRoutes } from 'hono/route'
import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { BaseEnv, Face } from './env.ts'

/** Is told of each request when its answer begins; `startedAtMs` is of `performance.now()`. */
export type NoteRequest = (c: Context<BaseEnv>, startedAtMs: number) => void

/** From what the cache answers to what a model does. */
const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10]
/** What no route answers: a path is whatever a stranger writes, and so is a method. */
const NO_ROUTE = { method: 'none', route: 'none' } as const

/**
 * Counts requests by the pattern of their route in `registry`, and how long they took until their answer began. Neither
 * paths nor ids are told, so there are never more lines than routes and statuses.
 */
export function createRequestFigures(registry: Registry): NoteRequest {
  const requests = new Counter({
    name: 'stead_http_requests_total',
    help: 'Requests that were answered, by the port, the pattern of the route and the status.',
    labelNames: ['port', 'method', 'route', 'status'],
    registers: [registry],
  })
  const durations = new Histogram({
    name: 'stead_http_request_duration_seconds',
    help: 'Time from the start of a request until its answer begins; streams go on after that.',
    labelNames: ['port', 'method', 'route'],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  })
  const names = new WeakMap<object, { method: string; route: string }>()

  return (c, startedAtMs) => {
    const port: Face = c.env.face
    const { method, route } = findRoute(c, names)
    durations.observe({ port, method, route }, (performance.now() - startedAtMs) / 1000)
    requests.inc({ port, method, route, status: c.res.status })
  }
}

function findRoute(c: Context<BaseEnv>, names: WeakMap<object, { method: string; route: string }>) {
  for (const matched of matchedRoutes(c)) {
    const known = names.get(matched)
    if (known) return known
    if (isMiddleware(findTargetHandler(matched.handler))) continue
    // The face stands before the path.
    const named = { method: matched.method, route: matched.path.replace(/^\/[a-z]+(?=\/|$)/, '') || '/' }
    names.set(matched, named)
    return named
  }
  return NO_ROUTE
}

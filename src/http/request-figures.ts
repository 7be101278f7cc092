import type { Context } from 'hono'
import { matchedRoutes } from 'hono/route'
import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { BaseEnv } from './env.ts'

/** Is told of each request when its answer begins; `startedAtMs` is of `performance.now()`. */
export type NoteRequest = (c: Context<BaseEnv>, startedAtMs: number) => void

type Labels = { port: string; method: string; route: string }
/** What was counted of one route of one port: answers by status, and by the bucket that their time fell into. */
type RouteFigures = { labels: Labels; statuses: Map<number, number>; buckets: number[]; sumSeconds: number }

/** From what the cache answers to what a model does. */
const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10]
const BUCKET_NAMES = [...BUCKETS_SECONDS, '+Inf']

/**
 * Counts requests by the pattern of their route in `registry`, and how long they took until their answer began. Neither
 * paths nor ids are told, so there are never more lines than routes and statuses. A request costs two additions here:
 * labels are put together when somebody reads the figures.
 */
export function createRequestFigures(registry: Registry): NoteRequest {
  const all: RouteFigures[] = []
  new RequestCounter(all, registry)
  new RequestDurations(all, registry)
  const byName = new Map<string, RouteFigures>()
  const byRoute = new WeakMap<object, RouteFigures>()

  function findOrAdd(labels: Labels): RouteFigures {
    const name = Object.values(labels).join(' ')
    const known = byName.get(name)
    if (known) return known
    const added = { labels, statuses: new Map(), buckets: BUCKET_NAMES.map(() => 0), sumSeconds: 0 }
    byName.set(name, added)
    all.push(added)
    return added
  }

  function figuresOf(c: Context<BaseEnv>): RouteFigures {
    const port = c.env.api
    for (const matched of matchedRoutes(c)) {
      const known = byRoute.get(matched)
      if (known) return known
      if (isMiddleware(findTargetHandler(matched.handler))) continue
      // The face stands before the path.
      const route = matched.path.replace(/^\/[a-z]+(?=\/|$)/, '') || '/'
      const found = findOrAdd({ port, method: matched.method, route })
      byRoute.set(matched, found)
      return found
    }
    // What no route answers: a path is whatever a stranger writes, and so is a method.
    return findOrAdd({ port, method: 'none', route: 'none' })
  }

  return (c, startedAtMs) => {
    const figures = figuresOf(c)
    const seconds = (performance.now() - startedAtMs) / 1000
    const found = BUCKETS_SECONDS.findIndex((bound) => seconds <= bound)
    const bucket = found === -1 ? BUCKETS_SECONDS.length : found
    figures.buckets[bucket] = (figures.buckets[bucket] ?? 0) + 1
    figures.sumSeconds += seconds
    const { status } = c.res
    figures.statuses.set(status, (figures.statuses.get(status) ?? 0) + 1)
  }
}

class RequestCounter extends Counter<'port' | 'method' | 'route' | 'status'> {
  constructor(all: readonly RouteFigures[], registry: Registry) {
    super({
      name: 'stead_http_requests_total',
      help: 'Requests that were answered, by the port, the pattern of the route and the status.',
      labelNames: ['port', 'method', 'route', 'status'],
      registers: [registry],
      collect() {
        this.reset()
        for (const { labels, statuses } of all) {
          for (const [status, count] of statuses) this.inc({ ...labels, status }, count)
        }
      },
    })
  }
}

const DURATIONS = {
  name: 'stead_http_request_duration_seconds',
  help: 'Time from the start of a request until its answer begins; streams go on after that.',
} as const

class RequestDurations extends Histogram<'port' | 'method' | 'route'> {
  constructor(
    private readonly all: readonly RouteFigures[],
    registry: Registry,
  ) {
    super({ ...DURATIONS, labelNames: ['port', 'method', 'route'], buckets: BUCKETS_SECONDS, registers: [registry] })
  }

  /** What `get` and the text of a registry are made of; its types do not know it. */
  async getForPromString() {
    return { ...DURATIONS, type: 'histogram', aggregator: 'sum', values: this.all.flatMap(toValues) }
  }
}

/** Buckets count what took as long as their bound or less, so each holds those below it. */
function toValues({ labels, buckets, sumSeconds }: RouteFigures) {
  let count = 0
  const cumulative = BUCKET_NAMES.map((le, index) => {
    count += buckets[index] ?? 0
    return { metricName: `${DURATIONS.name}_bucket`, labels: { ...labels, le }, value: count }
  })
  return [
    ...cumulative,
    { metricName: `${DURATIONS.name}_sum`, labels, value: sumSeconds },
    { metricName: `${DURATIONS.name}_count`, labels, value: count },
  ]
}

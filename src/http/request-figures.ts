import type { Context } from 'hono'
import { matchedRoutes } from 'hono/route'
import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { BaseEnv } from './env.ts'

<<<<<<< HEAD
/** Records a request when its response begins; `startedAtMs` comes from `performance.now()`. */
export type NoteRequest = (c: Context<BaseEnv>, startedAtMs: number) => void

type Labels = { port: string; method: string; route: string }

/** From a cached response to a model's. */
=======
/** Records a request when its response starts; `startedAtMs` is from `performance.now()`. */
export type NoteRequest = (c: Context<BaseEnv>, startedAtMs: number) => void

type Labels = { port: string; method: string; route: string }
/** Counts of one route: responses by status, and by duration bucket. */
type RouteFigures = { labels: Labels; statuses: Map<number, number>; buckets: number[]; sumSeconds: number }

/** From cached responses to model calls. */
>>>>>>> 5f771b46 (test(accounts): name tests by request, status and condition)
const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10]

/**
<<<<<<< HEAD
 * Registers the request counter and the duration histogram in `registry`. Both are labelled with the route pattern, never
 * with a path, so the number of series is bounded.
 */
export function createRequestFigures(registry: Registry): NoteRequest {
  const requests = new Counter({
    name: 'stead_http_requests_total',
    help: 'Answered requests by port, route pattern and status.',
    labelNames: ['port', 'method', 'route', 'status'],
    registers: [registry],
=======
 * Counts requests and durations per route pattern in `registry`, without paths and ids, so the number of series is
 * bounded. Recording a request costs two additions; labels are built when metrics are read.
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
      // Paths inside the app start with the API's name.
      const route = matched.path.replace(/^\/[a-z]+(?=\/|$)/, '') || '/'
      const found = findOrAdd({ port, method: matched.method, route })
      byRoute.set(matched, found)
      return found
    }
    // Unmatched paths and methods are arbitrary, so they share one series.
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

  /** Overrides the method from which the registry reads values; it is missing in the types. */
  async getForPromString() {
    return { ...DURATIONS, type: 'histogram', aggregator: 'sum', values: this.all.flatMap(toValues) }
  }
}

/** Prometheus buckets are cumulative. */
function toValues({ labels, buckets, sumSeconds }: RouteFigures) {
  let count = 0
  const cumulative = BUCKET_NAMES.map((le, index) => {
    count += buckets[index] ?? 0
    return { metricName: `${DURATIONS.name}_bucket`, labels: { ...labels, le }, value: count }
>>>>>>> 5f771b46 (test(accounts): name tests by request, status and condition)
  })
  const durations = new Histogram({
    name: 'stead_http_request_duration_seconds',
    help: 'Time from the start of a request until its response begins, without the rest of a stream.',
    labelNames: ['port', 'method', 'route'],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  })
  return (c, startedAtMs) => {
    const labels = labelsOf(c)
    durations.observe(labels, (performance.now() - startedAtMs) / 1000)
    requests.inc({ ...labels, status: c.res.status })
  }
}

function labelsOf(c: Context<BaseEnv>): Labels {
  const port = c.env.api
  const matched = matchedRoutes(c).find(({ handler }) => !isMiddleware(findTargetHandler(handler)))
  // Unmatched requests share one series: the client chooses their path and method.
  if (!matched) return { port, method: 'none', route: 'none' }
  // The pattern is prefixed with the name of the API.
  return { port, method: matched.method, route: matched.path.replace(/^\/[a-z]+(?=\/|$)/, '') || '/' }
}

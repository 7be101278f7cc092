import type { Context } from 'hono'
import { matchedRoutes } from 'hono/route'
import type { RouterRoute } from 'hono/types'
import { findTargetHandler, isMiddleware } from 'hono/utils/handler'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { BaseEnv } from './env.ts'

/** Records a request when its response begins; `startedAtMs` comes from `performance.now()`. */
export type NoteRequest = (c: Context<BaseEnv>, startedAtMs: number) => void

type Labels = { port: string; method: string; route: string }

type Noted = { labels: Labels; status: number; seconds: number }

/** Counting many requests in a row takes a fraction of the time of counting each when it is answered. */
const MAX_WAITING = 256

/** From a cached response to a model's. */
const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10]

/**
 * Registers the request counter and the duration histogram in `registry`. Both are labelled with the route pattern, never
 * with a path, so the number of series is bounded.
 */
export function createRequestFigures(registry: Registry): NoteRequest {
  const waiting: Noted[] = []
  const countAll = () => {
    for (const { labels, status, seconds } of waiting) {
      durations.observe(labels, seconds)
      requests.inc({ ...labels, status })
    }
    waiting.length = 0
  }
  const requests = new Counter({
    name: 'stead_http_requests_total',
    help: 'Answered requests by port, route pattern and status.',
    labelNames: ['port', 'method', 'route', 'status'],
    registers: [registry],
    collect: countAll,
  })
  const durations = new Histogram({
    name: 'stead_http_request_duration_seconds',
    help: 'Time from the start of a request until its response begins, without the rest of a stream.',
    labelNames: ['port', 'method', 'route'],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
    collect: countAll,
  })
  return (c, startedAtMs) => {
    waiting.push({ labels: labelsOf(c), status: c.res.status, seconds: (performance.now() - startedAtMs) / 1000 })
    if (waiting.length >= MAX_WAITING) countAll()
  }
}

/** The labels of each route: the pattern and its labels never change. */
const known = new WeakMap<RouterRoute, Labels>()
/** Unmatched requests share one series: the client chooses their path and method. */
const UNMATCHED = { method: 'none', route: 'none' }

function labelsOf(c: Context<BaseEnv>): Labels {
  const matched = matchedRoutes(c).find(({ handler }) => !isMiddleware(findTargetHandler(handler)))
  if (!matched) return { port: c.env.api, ...UNMATCHED }
  const labels = known.get(matched) ?? toLabels(c.env.api, matched)
  known.set(matched, labels)
  return labels
}

/** The pattern is prefixed with the name of the API. */
function toLabels(port: string, { method, path }: RouterRoute): Labels {
  return { port, method, route: path.replace(/^\/[a-z]+(?=\/|$)/, '') || '/' }
}

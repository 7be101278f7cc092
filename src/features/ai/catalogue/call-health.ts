import QuickLRU from 'quick-lru'

/** Minutes of calls that count. */
export const HEALTH_WINDOW_MINUTES = 15
const WINDOW_MS = HEALTH_WINDOW_MINUTES * 60_000
/** Calls kept for each model; a busy model is described by its latest ones. */
const MAX_CALLS = 256
const MAX_MODELS = 500

/** Latest calls of a model in a ring: time, latency, and whether they failed. */
type Calls = { at: Float64Array; latencyMs: Float32Array; failed: Uint8Array; next: number; size: number }

/**
 * Figures of the latest calls. Latencies are null when every call failed; the latency of a stream is the time to its
 * first chunk.
 */
export type CallFigures = { calls: number; errorRate: number; latencyMs: { p50: number | null; p95: number | null } }

/** Remembers the outcome of recent calls by model, in memory. */
type CallHealth = {
  note(key: string, latencyMs: number, failed: boolean): void
  /** Returns null without a call in the last 15 minutes. */
  figuresOf(key: string): CallFigures | null
}

/** `nowMs` must be monotonic. */
export function createCallHealth(deps: { nowMs: () => number }): CallHealth {
  const models = new QuickLRU<string, Calls>({ maxSize: MAX_MODELS })
  return {
    note(key, latencyMs, failed) {
      let calls = models.get(key)
      if (!calls) {
        calls = createCalls()
        models.set(key, calls)
      }
      const { next } = calls
      calls.at[next] = deps.nowMs()
      calls.latencyMs[next] = latencyMs
      calls.failed[next] = failed ? 1 : 0
      calls.next = (next + 1) % MAX_CALLS
      calls.size = Math.min(calls.size + 1, MAX_CALLS)
    },
    figuresOf(key) {
      const calls = models.get(key)
      return calls ? toFigures(calls, deps.nowMs() - WINDOW_MS) : null
    },
  }
}

function createCalls(): Calls {
  return {
    at: new Float64Array(MAX_CALLS),
    latencyMs: new Float32Array(MAX_CALLS),
    failed: new Uint8Array(MAX_CALLS),
    next: 0,
    size: 0,
  }
}

function toFigures({ at, latencyMs, failed, size }: Calls, since: number): CallFigures | null {
  const recent = Array.from({ length: size }, (_, index) => index).filter((index) => (at[index] ?? 0) > since)
  if (recent.length === 0) return null
  const answered = recent.filter((index) => failed[index] === 0)
  const sorted = answered.map((index) => latencyMs[index] ?? 0).sort((one, other) => one - other)
  const quantile = (share: number) => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
    return value === undefined ? null : Math.round(value)
  }
  const errorRate = Math.round(((recent.length - answered.length) / recent.length) * 1000) / 1000
  return { calls: recent.length, errorRate, latencyMs: { p50: quantile(0.5), p95: quantile(0.95) } }
}

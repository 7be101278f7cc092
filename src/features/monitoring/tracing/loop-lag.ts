import { Histogram, type Registry } from 'prom-client'

/** A timer that is this often due tells how late the event loop is; it costs about a thousandth of a core. */
const EVERY_MS = 50

/** How late timers are: while one request holds the event loop, all others wait. What is returned ends it. */
export function watchLoopLag(registry: Registry): () => void {
  const lag = new Histogram({
    name: 'stead_event_loop_lag_seconds',
    help: 'How late a timer was that is due every 50 ms.',
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers: [registry],
  })
  let dueAt = performance.now() + EVERY_MS
  const timer = setInterval(() => {
    const now = performance.now()
    lag.observe(Math.max(0, now - dueAt) / 1000)
    dueAt = now + EVERY_MS
  }, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

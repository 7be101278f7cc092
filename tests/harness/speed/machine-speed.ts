import Database from 'better-sqlite3'
import { threadMs } from './loop-hold.ts'

/** Duration of the reference work on the machine for which the limits are set. */
const USUAL_MS = 12
const TRIES = 5

/**
 * Returns how many times slower this machine is than the reference machine, at least 1. Limits are multiplied by it.
 */
export function measureSlowness(): number {
  const sqlite = new Database(':memory:')
  const count = sqlite.prepare(
    'WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 50000) SELECT sum(n * 7 % 11) FROM numbers',
  )
  const times = Array.from({ length: TRIES }, () => {
    const startedAt = threadMs()
    count.get()
    return threadMs() - startedAt
  })
  sqlite.close()
  const median = times.toSorted((one, other) => one - other)[Math.floor(TRIES / 2)] ?? USUAL_MS
  return Math.max(1, median / USUAL_MS)
}

import Database from 'better-sqlite3'
import { threadMs } from './loop-hold.ts'

/** Duration of the reference work on the machine the limits are written for. */
const USUAL_MS = 12
const TRIES = 5

/** How many times slower this machine is now than a usual one; 1 for a faster one. Limits grow with it. */
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

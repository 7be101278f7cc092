import type { Idempotency } from '../../../http/idempotency.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'

const HOUR_MS = 3_600_000

/** Forgets answers that were kept for a day. */
export function idempotencyJob({ idempotency }: { idempotency: Idempotency }): RepeatingJob {
  return { name: 'idempotency.expired', everyMs: HOUR_MS, run: (signal) => idempotency.deleteExpired(signal) }
}

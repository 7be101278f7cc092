import { z } from 'zod'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { type DeliverDeps, deleteOldDeliveries, deliverWaiting, MAX_ATTEMPTS, NOTIFY_JOB } from './notify.ts'
import { CHANNELS } from './schemas.ts'

const HOUR_MS = 3_600_000

export function notifyJob(deps: DeliverDeps): JobKind {
  return defineJob({
    kind: NOTIFY_JOB,
    payload: z.object({ channel: z.enum(CHANNELS) }),
    maxAttempts: MAX_ATTEMPTS,
    run: ({ channel }, signal) => deliverWaiting(deps, channel, signal),
  })
}

export function deliveriesJob(deps: Pick<DeliverDeps, 'db' | 'clock'>): RepeatingJob {
  return { name: 'notifications.deliveries', everyMs: HOUR_MS, run: (signal) => deleteOldDeliveries(deps, signal) }
}

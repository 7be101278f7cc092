import { z } from 'zod'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { type DeliverDeps, deliverNotices, MAX_ATTEMPTS } from './deliver.ts'
import { deleteOldNotices, type RemindDeps, remindOwners } from './remind.ts'
import { NOTICE_JOB } from './tell.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

export function noticeJob(deps: DeliverDeps): JobKind {
  return defineJob({
    kind: NOTICE_JOB,
    payload: z.object({ userId: z.string(), channelId: z.string() }),
    maxAttempts: MAX_ATTEMPTS,
    isSlow: true,
    run: (channel, signal) => deliverNotices(deps, channel, signal),
  })
}

export function remindersJob(deps: RemindDeps): RepeatingJob {
  return { name: 'notices.reminders', everyMs: MINUTE_MS, run: () => remindOwners(deps) }
}

export function oldNoticesJob(deps: Pick<RemindDeps, 'db' | 'clock'>): RepeatingJob {
  return { name: 'notices.old', everyMs: HOUR_MS, run: (signal) => deleteOldNotices(deps, signal) }
}

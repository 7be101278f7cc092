import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { RadioProvider } from '../../../adapters/media/radio.ts'
import type { Tx } from '../../../db/open.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import { radioStreams } from './tables.ts'

const ABANDON_JOB = 'radio.abandon'

const StreamJob = z.object({ providerId: z.string() })

/** Takes away a user's streams, which end at the provider soon after: their keys must not outlive the account. */
export function abandonStreams(tx: Tx, enqueue: Enqueue, userId: string): void {
  const gone = tx.delete(radioStreams).where(eq(radioStreams.userId, userId)).returning().all()
  for (const { providerId } of gone) {
    if (providerId) enqueue(tx, ABANDON_JOB, { providerId }, { key: `radio:${providerId}` })
  }
}

export function abandonStreamJob(deps: { radio: RadioProvider }): JobKind {
  return defineJob({
    kind: ABANDON_JOB,
    payload: StreamJob,
    run: ({ providerId }) => deps.radio.remove(providerId),
  })
}

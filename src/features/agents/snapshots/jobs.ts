import { z } from 'zod'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { EMPTY_TRASH_JOB, emptyTrash, forgetTrash } from './trash.ts'

const HOUR_MS = 3_600_000

export function emptyTrashJob(deps: { snapshotDir: string }): JobKind {
  return defineJob({
    kind: EMPTY_TRASH_JOB,
    payload: z.object({ ownerId: z.string() }),
    run: ({ ownerId }) => emptyTrash(deps, ownerId),
  })
}

export function trashJob(deps: Parameters<typeof forgetTrash>[0]): RepeatingJob {
  return { name: 'agents.trash', everyMs: HOUR_MS, run: () => forgetTrash(deps) }
}

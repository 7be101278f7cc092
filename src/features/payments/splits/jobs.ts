import { z } from 'zod'
import { errorMessage } from '../../../core/errors.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { START_JOB } from './create-split.ts'
import { listDueSplits, type SettleDeps, settleSplit } from './settle-split.ts'

const EVERY_MS = 2000

/** Begins a split as soon as it is durable. */
export function startSplitJob(deps: SettleDeps): JobKind {
  return defineJob({
    kind: START_JOB,
    payload: z.object({ id: z.number() }),
    run: ({ id }) => settleSplit(deps, id),
  })
}

/** Follows splits until they are over, and takes up those that waited for a chain or a wallet. */
export function followSplitsJob(deps: SettleDeps): RepeatingJob {
  return { name: 'splits', everyMs: EVERY_MS, run: () => followSplits(deps) }
}

/** One round over what is due. What goes wrong with one split is logged, and holds up no other. */
export async function followSplits(deps: SettleDeps): Promise<void> {
  for (const id of listDueSplits(deps.db, deps.clock.now())) {
    try {
      await settleSplit(deps, id)
    } catch (error) {
      deps.log.warn({ split: id, error: errorMessage(error) }, 'a split could not be looked after')
    }
  }
}

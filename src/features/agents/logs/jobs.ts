import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { type IngestDeps, ingestLogs } from './ingest.ts'
import { deleteOldLines, listSources } from './store.ts'

const HOUR_MS = 3_600_000
const START_MS = 100

/** Follows all agents for as long as the platform runs; begins anew when it fails. */
export function followLogsJob(deps: IngestDeps): RepeatingJob {
  return { name: 'logs.follow', everyMs: START_MS, run: (signal) => ingestLogs(deps, signal) }
}

/** Forgets lines that are too old, some at a time: other writers wait no longer than that takes. */
export function forgetLogsJob(deps: { db: Db; clock: Clock }): RepeatingJob {
  return { name: 'logs.forget', everyMs: HOUR_MS, run: (signal) => forgetLogs(deps, signal) }
}

async function forgetLogs({ db, clock }: { db: Db; clock: Clock }, signal: AbortSignal): Promise<void> {
  for (const agentId of listSources(db)) {
    while (await write(db, (tx) => deleteOldLines(tx, agentId, clock.now()))) signal.throwIfAborted()
  }
}

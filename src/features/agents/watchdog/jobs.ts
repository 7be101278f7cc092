import { eq, lt } from 'drizzle-orm'
import { z } from 'zod'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { addDays } from '../../../core/clock.ts'
import { spareTurn } from '../../../core/concurrency/timing.ts'
import { AppError } from '../../../core/errors.ts'
import { beyondNewest } from '../../../db/beyond-newest.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db } from '../../../db/open.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import type { AgentLocks } from '../operations/operations.ts'
import { findAgentRow } from '../registry/agents.ts'
import { type LadderDeps, takeRung } from './ladder.ts'
import type { Rung } from './next-state.ts'
import { END_JOB } from './record.ts'
import { hostFaults, watchdogEvents, watchdogHours, watchdogs } from './tables.ts'
import { isOldHour } from './uptime.ts'
import { runWatchdog, type WatchDeps } from './watch.ts'

const SECOND_MS = 1000
const HOUR_MS = 3_600_000
const KEPT_DAYS = 30
const KEPT_EVENTS = 500

/** Runs the watchdog while the platform runs; restarts after a failure. */
export function watchdogJob(deps: Omit<WatchDeps, 'repairAgent'> & LadderDeps): RepeatingJob {
  const repair = (agentId: string, rung: Rung, signal: AbortSignal) => takeRung(deps, agentId, rung, signal)
  return {
    name: 'watchdog',
    everyMs: SECOND_MS,
    run: (signal) => runWatchdog({ ...deps, repairAgent: repair }, signal),
  }
}

/** Ends an agent that the watchdog gave up, unless it was started since. */
export function endAgentJob(deps: {
  db: Db
  runtimes: Pick<Runtimes, 'runtimeOf'>
  agentLocks: Pick<AgentLocks, 'run'>
}): JobKind {
  return defineJob({
    kind: END_JOB,
    payload: z.object({ agentId: z.string() }),
    run: ({ agentId }) => deps.agentLocks.run(agentId, () => endAgent(deps, agentId)),
  })
}

async function endAgent(
  { db, runtimes }: { db: Db; runtimes: Pick<Runtimes, 'runtimeOf'> },
  agentId: string,
): Promise<void> {
  const agent = findAgentRow(db, agentId)
  if (agent?.status !== 'error') return
  await runtimes
    .runtimeOf(agent)
    .kill(agentId)
    .catch((error) => {
      if (!(error instanceof AppError && error.kind === 'not_found')) throw error
    })
}

/** Deletes history older than a month, and all but the last 500 events of an agent. */
export function watchdogHistoryJob({ db, clock }: Base): RepeatingJob {
  return { name: 'watchdog.history', everyMs: HOUR_MS, run: (signal) => deleteOldHistory(db, clock.now(), signal) }
}

async function deleteOldHistory(db: Db, now: Date, signal: AbortSignal): Promise<void> {
  const oldest = addDays(now, -KEPT_DAYS)
  await deleteInBatches(db, watchdogHours, isOldHour(now), signal)
  await deleteInBatches(db, watchdogEvents, lt(watchdogEvents.at, oldest), signal)
  await deleteInBatches(db, hostFaults, lt(hostFaults.endedAt, oldest), signal)
  for (const { agentId } of db.select({ agentId: watchdogs.agentId }).from(watchdogs).all()) {
    await spareTurn()
    const condition = eq(watchdogEvents.agentId, agentId)
    const isSurplus = beyondNewest(db, { condition, newest: watchdogEvents.sequence, count: KEPT_EVENTS })
    if (isSurplus) await deleteInBatches(db, watchdogEvents, isSurplus, signal)
  }
}

import { and, eq, inArray, isNotNull } from 'drizzle-orm'
import QuickLRU from 'quick-lru'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { inLanes } from '../../../core/concurrency/keyed-queue.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { type KeptState, type KeptStatesDeps, keepState, listKeptStates } from './kept-states.ts'

type KeepDeps = Base &
  KeptStatesDeps & {
    runtimes: Pick<Runtimes, 'runtimeOf'>
    /** Interval between copies of a running agent's files; null copies none. */
    snapshotEveryMs: number | null
  }

/** Longest interval of checks; shorter intervals of copies are checked twice. */
const LOOK_MS = 10_000
const LEAST_LOOK_MS = 1000
/** Agents copied at the same time. */
const AT_ONCE = 2
/** Pause after an agent's files could not be copied. */
const PAUSE_MS = 60_000
const MAX_PAUSED = 1000

/** Copies the files of agents that may move to another machine: of running ones at an interval, of others once stopped. */
export function keepStatesJob(deps: KeepDeps): RepeatingJob {
  const failedAtMs = new QuickLRU<string, number>({ maxSize: MAX_PAUSED })
  const isPaused = (id: string) => performance.now() - (failedAtMs.get(id) ?? Number.NEGATIVE_INFINITY) < PAUSE_MS
  const copy = async (id: string) => {
    try {
      await keepState(deps, deps.runtimes.runtimeOf({ runtime: 'swarm' }), id)
      failedAtMs.delete(id)
    } catch (error) {
      failedAtMs.set(id, performance.now())
      deps.log.warn({ agentId: id, error: errorMessage(error) }, 'the files of an agent could not be copied')
    }
  }
  return {
    name: 'agents.keep-states',
    everyMs: Math.min(LOOK_MS, Math.max(LEAST_LOOK_MS, (deps.snapshotEveryMs ?? LOOK_MS) / 2)),
    async run(signal) {
      if (deps.snapshotEveryMs === null) return
      const due = (await listDue(deps, deps.snapshotEveryMs)).filter((id) => !isPaused(id))
      await inLanes(due, AT_ONCE, async (id) => {
        if (!signal.aborted) await copy(id)
      })
    },
  }
}

type Deployed = Pick<AgentRow, 'id' | 'status' | 'startedAt'>

/** Lists deployed agents of the swarm without a recent copy; the oldest copies come first. */
async function listDue({ db, clock, objects }: KeepDeps, everyMs: number): Promise<string[]> {
  const deployed = db
    .select({ id: agents.id, status: agents.status, startedAt: agents.startedAt })
    .from(agents)
    .where(
      and(
        eq(agents.runtime, 'swarm'),
        isNotNull(agents.port),
        inArray(agents.status, ['running', 'stopped', 'sleeping']),
      ),
    )
    .all()
  if (deployed.length === 0) return []
  const kept = await listKeptStates(objects)
  const oldest = clock.now().getTime() - everyMs
  const ageOf = ({ id }: Deployed) => kept.get(id)?.takenAt.getTime() ?? 0
  return deployed
    .filter((agent) => isDue(agent, kept.get(agent.id), oldest))
    .sort((a, b) => ageOf(a) - ageOf(b))
    .map(({ id }) => id)
}

function isDue({ status, startedAt }: Deployed, kept: KeptState | undefined, oldest: number): boolean {
  if (!kept) return true
  if (status === 'running') return kept.takenAt.getTime() <= oldest
  return !kept.isFinal || (startedAt !== null && startedAt > kept.takenAt)
}

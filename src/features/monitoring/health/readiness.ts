import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { orLate } from '../../../core/concurrency/race.ts'
import type { Db } from '../../../db/open.ts'
import { findWriteFailure, write } from '../../../db/write.ts'
import type { DiskFloor } from '../../agents/storage/disk.ts'
import { readiness } from './tables.ts'

/** A part without which the service is not ready. */
type Part = 'database' | 'runtime' | 'disk'
/** Returns the failing parts, an empty list when the service is ready. Never throws. */
export type FindFailing = () => Promise<Part[]>

/**
 * The result is cached for `keptMs`, so unauthenticated callers cannot cause writes; a check fails after `patienceMs`.
 */
const TIMES = { keptMs: 5000, failingKeptMs: 1000, patienceMs: 5000 }

/**
 * Creates the check of `/readyz`: the database accepts writes, every runtime in use answers, the disk is above its
 * reserve.
 */
export function createReadiness(
  deps: {
    db: Db
    clock: Clock
    runtimes: Pick<Runtimes, 'choose' | 'runtimeOf' | 'listOpen'>
    diskFloor: Pick<DiskFloor, 'isLow'>
  },
  { keptMs, failingKeptMs, patienceMs } = TIMES,
): FindFailing {
  const checks: [Part, () => Promise<boolean>][] = [
    ['database', () => canWrite(deps)],
    ['runtime', () => isAnswering(deps.runtimes)],
    ['disk', async () => !(await deps.diskFloor.isLow())],
  ]
  const look = async () => {
    const works = await Promise.all(checks.map(([, check]) => inTime(check, patienceMs)))
    return checks.filter((_check, index) => !works[index]).map(([part]) => part)
  }
  // Shorter while it fails, so that a load balancer soon uses a node that has just become the leader.
  return keepAnswer(look, (failing) => (failing.length === 0 ? keptMs : failingKeptMs))
}

/** Shares one run among concurrent callers and caches its result for as long as `toKeptMs` returns. */
function keepAnswer<Answer>(look: () => Promise<Answer>, toKeptMs: (answer: Answer) => number): () => Promise<Answer> {
  let kept: Promise<Answer> | null = null
  let keptUntilMs = 0
  return () => {
    if (!kept || performance.now() >= keptUntilMs) {
      keptUntilMs = Number.POSITIVE_INFINITY
      kept = look().then((answer) => {
        keptUntilMs = performance.now() + toKeptMs(answer)
        return answer
      })
    }
    return kept
  }
}

async function canWrite(deps: { db: Db; clock: Clock }): Promise<boolean> {
  await tryWrite(deps)
  return true
}

/** Checks the runtime of new agents and every runtime that has agents. */
async function isAnswering(runtimes: Pick<Runtimes, 'choose' | 'runtimeOf' | 'listOpen'>): Promise<boolean> {
  const chosen = runtimes.runtimeOf({ runtime: await runtimes.choose() })
  const answers = await Promise.all([...new Set([chosen, ...runtimes.listOpen()])].map((each) => each.isAvailable()))
  return answers.every(Boolean)
}

/** Returns false also when the check throws or times out. */
async function inTime(check: () => Promise<boolean>, patienceMs: number): Promise<boolean> {
  try {
    return await orLate(check(), patienceMs, false)
  } catch {
    return false
  }
}

/** A reason why user writes fail: the database rejects them, or the disk is below its reserve. */
type Fault = 'database' | 'disk'

/** Returns the current faults. Never throws. */
export type FindFaults = () => Promise<Fault[]>

/** Minimum time between write attempts while the database fails. */
const RETRY_MS = 1000

/** Creates a cheap fault check. A failing database is retried, so the fault clears without user writes. */
export function createFaultFinder(deps: { db: Db; clock: Clock; diskFloor: DiskFloor }): FindFaults {
  let triedAtMs = Number.NEGATIVE_INFINITY
  const isFailing = () => findWriteFailure(deps.db) !== null
  const tryAgain = async () => {
    if (performance.now() - triedAtMs < RETRY_MS) return
    triedAtMs = performance.now()
    // `write` records the outcome, which `isFailing` reads.
    await tryWrite(deps).catch(() => undefined)
  }
  return async () => {
    if (isFailing()) await tryAgain()
    const isLow = await deps.diskFloor.isLow().catch(() => true)
    return [...(isFailing() ? (['database'] as const) : []), ...(isLow ? (['disk'] as const) : [])]
  }
}

/**
 * Commits one row, because reads succeed on a full or read-only disk. @throws AppError `unavailable` when the commit
 * fails.
 */
async function tryWrite({ db, clock }: { db: Db; clock: Clock }): Promise<void> {
  const row = { id: 1, checkedAt: clock.now() }
  await write(db, (tx) => tx.insert(readiness).values(row).onConflictDoUpdate({ target: readiness.id, set: row }).run())
}

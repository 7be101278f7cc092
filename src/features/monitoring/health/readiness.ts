import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { orLate } from '../../../core/concurrency/or-late.ts'
import type { Db } from '../../../db/open.ts'
import { findWriteFailure, write } from '../../../db/write.ts'
import type { DiskFloor } from '../../agents/storage/disk.ts'
import { readiness } from './tables.ts'

/** What must work for the service to be of use. */
type Part = 'database' | 'runtime' | 'disk'
/** The parts that do not work, none when the service is ready. Never throws. */
export type FindFailing = () => Promise<Part[]>

/**
 * Anybody may ask as often as they like: an answer is kept for so long, and meanwhile nothing is written or asked. A part
 * that takes longer than `patienceMs` is of no use to anybody either.
 */
const TIMES = { keptMs: 5000, patienceMs: 5000 }

type ReadinessDeps = {
  db: Db
  clock: Clock
  runtimes: Pick<Runtimes, 'choose' | 'runtimeOf' | 'listOpen'>
  diskFloor: Pick<DiskFloor, 'isLow'>
}

/** Tells whether the database writes, every runtime in use answers, and the disk is above its floor (decisions, 55). */
export function createReadiness(deps: ReadinessDeps, { keptMs, patienceMs } = TIMES): FindFailing {
  const checks: [Part, () => Promise<boolean>][] = [
    ['database', () => canWrite(deps)],
    ['runtime', () => isAnswering(deps.runtimes)],
    ['disk', async () => !(await deps.diskFloor.isLow())],
  ]
  const look = async () => {
    const works = await Promise.all(checks.map(([, check]) => inTime(check, patienceMs)))
    return checks.filter((_check, index) => !works[index]).map(([part]) => part)
  }
  return keepAnswer(look, keptMs)
}

/** Looks once for all who ask while it looks, and for `keptMs` afterwards. */
function keepAnswer<Answer>(look: () => Promise<Answer>, keptMs: number): () => Promise<Answer> {
  let kept: Promise<Answer> | null = null
  let keptUntilMs = 0
  return () => {
    if (!kept || performance.now() >= keptUntilMs) {
      keptUntilMs = Number.POSITIVE_INFINITY
      kept = look().finally(() => {
        keptUntilMs = performance.now() + keptMs
      })
    }
    return kept
  }
}

async function canWrite(deps: ReadinessDeps): Promise<boolean> {
  await tryWrite(deps)
  return true
}

/** What new agents get, and whatever serves agents already. */
async function isAnswering(runtimes: ReadinessDeps['runtimes']): Promise<boolean> {
  const chosen = runtimes.runtimeOf({ runtime: await runtimes.choose() })
  const answers = await Promise.all([...new Set([chosen, ...runtimes.listOpen()])].map((each) => each.isAvailable()))
  return answers.every(Boolean)
}

/** False for what fails or hangs as well. */
async function inTime(check: () => Promise<boolean>, patienceMs: number): Promise<boolean> {
  try {
    return await orLate(check(), patienceMs, false)
  } catch {
    return false
  }
}

/** What keeps users from writing: the database takes nothing, or the disk is below its floor. */
type Fault = 'database' | 'disk'

/** None while all is well. Never throws. */
export type FindFaults = () => Promise<Fault[]>

/** How often a database that took nothing is tried again, when nobody else writes. */
const RETRY_MS = 1000

/** Costs next to nothing while all is well. What failed is tried again, so that it is told when it is over. */
export function createFaultFinder(deps: { db: Db; clock: Clock; diskFloor: DiskFloor }): FindFaults {
  let triedAtMs = Number.NEGATIVE_INFINITY
  const isFailing = () => findWriteFailure(deps.db) !== null
  const tryAgain = async () => {
    if (performance.now() - triedAtMs < RETRY_MS) return
    triedAtMs = performance.now()
    // The queue notes what comes of it.
    await tryWrite(deps).catch(() => undefined)
  }
  return async () => {
    if (isFailing()) await tryAgain()
    const isLow = await deps.diskFloor.isLow().catch(() => true)
    return [...(isFailing() ? (['database'] as const) : []), ...(isLow ? (['disk'] as const) : [])]
  }
}

/** A commit that the disk has taken, which reading alone would not show. @throws AppError `unavailable` when it is not. */
async function tryWrite({ db, clock }: { db: Db; clock: Clock }): Promise<void> {
  const row = { id: 1, checkedAt: clock.now() }
  await write(db, (tx) => tx.insert(readiness).values(row).onConflictDoUpdate({ target: readiness.id, set: row }).run())
}

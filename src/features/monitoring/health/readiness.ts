import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { orLate } from '../../../core/concurrency/or-late.ts'
import type { Db } from '../../../db/open.ts'
import type { DiskFloor } from '../../agents/storage/disk.ts'
import { tryWrite } from './try-write.ts'

/** What must work for the service to be of use. */
export type Part = 'database' | 'runtime' | 'disk'
/** The parts that do not work, none when the service is ready. Never throws. */
export type FindFailing = () => Promise<Part[]>

/**
 * Anybody may ask as often as they like: an answer is kept for so long, and meanwhile nothing is written or asked. A part
 * that takes longer than `patienceMs` is of no use to anybody either.
 */
const TIMES = { keptMs: 5000, patienceMs: 5000 }

export type ReadinessDeps = {
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

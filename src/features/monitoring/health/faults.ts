import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { findWriteFailure } from '../../../db/write.ts'
import type { DiskFloor } from '../../agents/storage/disk.ts'
import { tryWrite } from './try-write.ts'

/** What keeps users from writing: the database takes nothing, or the disk is below its floor. */
export type Fault = 'database' | 'disk'
export type FaultsDeps = { db: Db; clock: Clock; diskFloor: DiskFloor }

/** None while all is well. Never throws. */
export type FindFaults = () => Promise<Fault[]>

/** How often a database that took nothing is tried again, when nobody else writes. */
const RETRY_MS = 1000

/** Costs next to nothing while all is well. What failed is tried again, so that it is told when it is over. */
export function createFaultFinder(deps: FaultsDeps): FindFaults {
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

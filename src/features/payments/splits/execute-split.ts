import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { enqueueStart } from './create-split.ts'
import { royaltySplits, type SplitRow } from './tables.ts'

/**
 * Has a split paid that waited to be executed: the first call does, any other is refused.
 * @throws AppError `not_found` for a missing split and for somebody else's, `invalid` for one that was executed.
 */
export function executeSplit(
  deps: { db: Db; clock: Clock; enqueue: Enqueue },
  userId: string,
  id: number,
): Promise<SplitRow> {
  return write(deps.db, (tx) => {
    const isThis = eq(royaltySplits.id, id)
    const split = tx.select().from(royaltySplits).where(isThis).get()
    if (!split || split.ownerId !== userId) throw new AppError('not_found', 'Split not found')
    if (!split.isHeld) throw new AppError('invalid', 'Split already processed')
    enqueueStart(tx, deps, id)
    const change = { isHeld: false, reason: null, checkAt: deps.clock.now() }
    return tx.update(royaltySplits).set(change).where(isThis).returning().get()
  })
}

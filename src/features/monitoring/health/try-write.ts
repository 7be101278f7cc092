import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { readiness } from './tables.ts'

/** A commit that the disk has taken, which reading alone would not show. @throws AppError `unavailable` when it is not. */
export async function tryWrite({ db, clock }: { db: Db; clock: Clock }): Promise<void> {
  const row = { id: 1, checkedAt: clock.now() }
  await write(db, (tx) => tx.insert(readiness).values(row).onConflictDoUpdate({ target: readiness.id, set: row }).run())
}

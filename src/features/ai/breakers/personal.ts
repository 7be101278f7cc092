import { eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { pauses } from './tables.ts'

/** Since when all agents of the account are paused, and why. */
export const personalPauses = wholeList('pauses', [pauses], (db, userId) =>
  db
    .select({ reason: pauses.reason, createdAt: pauses.createdAt })
    .from(pauses)
    .where(eq(pauses.ownerId, userId))
    .all(),
)

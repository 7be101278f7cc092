import { and, count, eq, inArray } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { swarmAnswers, swarmRuns } from './tables.ts'

/** How many of a user's agents' tasks, in the runs that are kept, ended in which way; `errorKind` is null for a success. */
export type OutcomeCount = { state: 'completed' | 'failed'; errorKind: string | null; count: number }

export function countOutcomes(db: Db, ownerId: string): OutcomeCount[] {
  const rows = db
    .select({ state: swarmAnswers.state, errorKind: swarmAnswers.errorKind, count: count() })
    .from(swarmAnswers)
    .innerJoin(swarmRuns, eq(swarmRuns.id, swarmAnswers.runId))
    .where(and(eq(swarmRuns.ownerId, ownerId), inArray(swarmAnswers.state, ['completed', 'failed'])))
    .groupBy(swarmAnswers.state, swarmAnswers.errorKind)
    .all()
  return rows.map((row) => ({ ...row, state: row.state === 'completed' ? 'completed' : 'failed' }))
}

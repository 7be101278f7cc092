import { asc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { bytesOf, inPages } from '../../../db/pages/in-pages.ts'
import { type PersonalList, wholeList } from '../../../db/personal-data.ts'
import { swarmAnswers, swarmRuns, swarms } from './tables.ts'

/** Agents that work together. */
export const personalSwarms = wholeList('swarms', [swarms], (db, userId) =>
  db
    .select()
    .from(swarms)
    .where(eq(swarms.ownerId, userId))
    .orderBy(asc(swarms.sequence))
    .all()
    .map(({ sequence: _, ownerId: __, ...swarm }) => swarm),
)

/** What they were asked together, with their answers. */
export const personalSwarmRuns: PersonalList = {
  name: 'swarmRuns',
  tables: [swarmRuns],
  pages: (db, userId) =>
    inPages(db, {
      table: swarmRuns,
      condition: eq(swarmRuns.ownerId, userId),
      sizeBytes: swarmRunBytes(),
      read: (isOnPage) => withAnswers(db, db.select().from(swarmRuns).where(isOnPage).all()),
    }),
}

function withAnswers(db: Db, runs: (typeof swarmRuns.$inferSelect)[]) {
  const isOfRun = inArray(
    swarmAnswers.runId,
    runs.map(({ id }) => id),
  )
  const answers = db.select().from(swarmAnswers).where(isOfRun).orderBy(asc(swarmAnswers.position)).all()
  const byRun = Map.groupBy(answers, ({ runId }) => runId)
  return runs.map(({ sequence: _, ownerId: __, ...run }) => ({
    ...run,
    answers: (byRun.get(run.id) ?? []).map(({ runId: _, position: __, ...answer }) => answer),
  }))
}

/** A run with its answers. */
function swarmRunBytes(): SQL<number> {
  const ofAnswers = sql`SELECT total(octet_length(${swarmAnswers.message}) + coalesce(octet_length(${swarmAnswers.reply}), 0))
    FROM ${swarmAnswers} WHERE ${swarmAnswers.runId} = ${swarmRuns.id}`
  return sql<number>`${bytesOf(swarmRuns.task, swarmRuns.summary)} + (${ofAnswers})`
}

import { desc, eq, inArray } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { swarmAnswers, swarmRuns } from './tables.ts'

const MAX_RUNS = 100

/** Agents that were given the same task. */
export type Team = { members: string[]; summarizer: string | null }

/** Who took part in each of a user's last 100 runs; in everybody's without a user. */
export function listTeams(db: Db, ownerId: string | null): Team[] {
  const runs = db
    .select({ id: swarmRuns.id, summarizer: swarmRuns.summarizer })
    .from(swarmRuns)
    .where(ownerId === null ? undefined : eq(swarmRuns.ownerId, ownerId))
    .orderBy(desc(swarmRuns.sequence))
    .limit(MAX_RUNS)
    .all()
  const ids = runs.map(({ id }) => id)
  const members = Map.groupBy(listAsked(db, ids), ({ runId }) => runId)
  return runs.map(({ id, summarizer }) => ({
    members: (members.get(id) ?? []).map(({ agentId }) => agentId),
    summarizer,
  }))
}

function listAsked(db: Db, runIds: string[]) {
  const { runId, agentId } = swarmAnswers
  return db.select({ runId, agentId }).from(swarmAnswers).where(inArray(runId, runIds)).all()
}

import { and, asc, count, desc, eq, inArray, lt, type SQL } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { readPage } from '../../../db/pages.ts'
import type { PageQuery, RunAnswer, RunLine, SwarmRun, SwarmRunList } from './schemas.ts'
import { getSwarm } from './swarms.ts'
import { type AnswerRow, type SwarmRunRow, swarmAnswers, swarmRuns } from './tables.ts'

/** Returns a page of a swarm's runs, newest first. @throws AppError `not_found` for the swarm. */
export function listSwarmRuns(db: Db, ownerId: string, swarmId: string, { limit, before }: PageQuery): SwarmRunList {
  getSwarm(db, ownerId, swarmId)
  const ofSwarm = and(eq(swarmRuns.swarmId, swarmId), eq(swarmRuns.ownerId, ownerId))
  const isBefore = before === undefined ? undefined : lt(swarmRuns.sequence, sequenceOf(db, before, ofSwarm))
  const selection = db.select().from(swarmRuns).where(and(ofSwarm, isBefore)).orderBy(desc(swarmRuns.sequence))
  const { rows, hasMore } = readPage(selection, limit)
  const page = rows.map(toLine)
  return { runs: page, count: page.length, hasMore }
}

/** Returns 0 for a run that the swarm does not have: nothing precedes it. */
function sequenceOf(db: Db, id: string, ofSwarm: SQL | undefined): number {
  const isThis = and(ofSwarm, eq(swarmRuns.id, id))
  return db.select({ sequence: swarmRuns.sequence }).from(swarmRuns).where(isThis).get()?.sequence ?? 0
}

/** @throws AppError `not_found` for a missing run, one of another swarm and another user's. */
export function getRun(db: Db | Tx, ownerId: string, swarmId: string, id: string): SwarmRunRow {
  getSwarm(db, ownerId, swarmId)
  const isThis = and(eq(swarmRuns.id, id), eq(swarmRuns.swarmId, swarmId), eq(swarmRuns.ownerId, ownerId))
  const row = db.select().from(swarmRuns).where(isThis).get()
  if (!row) throw new AppError('not_found', 'Run not found')
  return row
}

/** Returns the run with its answers, in the swarm's order. */
export function showRun(db: Db, row: SwarmRunRow): SwarmRun {
  return {
    ...toLine(row),
    agents: listAnswers(db, row.id).map(toAnswer),
    summarizer: row.summarizer,
    summary: row.summary,
    summaryError: row.summaryError,
  }
}

export function listAnswers(db: Db | Tx, runId: string): AnswerRow[] {
  return db.select().from(swarmAnswers).where(eq(swarmAnswers.runId, runId)).orderBy(asc(swarmAnswers.position)).all()
}

function toLine(row: SwarmRunRow): RunLine {
  return {
    id: row.id,
    swarmId: row.swarmId,
    task: row.task,
    state: row.state,
    startedAt: row.startedAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
  }
}

function toAnswer(row: AnswerRow): RunAnswer {
  const { startedAt, finishedAt } = row
  return {
    agentId: row.agentId,
    name: row.agentName,
    state: row.state,
    result: row.reply,
    error: row.error,
    durationMs: startedAt && finishedAt ? finishedAt.getTime() - startedAt.getTime() : null,
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
  }
}

/** Number of agents' tasks in the kept runs of a user, by outcome; `errorKind` is null for a success. */
type OutcomeCount = { state: 'completed' | 'failed'; errorKind: string | null; count: number }

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

const MAX_RUNS = 100

/** Agents that got the same task. */
export type Team = { members: string[]; summarizer: string | null }

/** Lists the agents of a user's last 100 runs; of all users if `ownerId` is null. */
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

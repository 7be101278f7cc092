import { and, eq, inArray, ne } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { beyondNewest } from '../../../db/beyond-newest.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { getRun } from './runs.ts'
import { idOf, type Member } from './schemas.ts'
import { getSwarm } from './swarms.ts'
import { type SwarmRow, type SwarmRunRow, swarmAnswers, swarmRuns } from './tables.ts'

export const ASK_MEMBER_JOB = 'swarms.ask'

const MAX_RUNS_AT_ONCE = 5
const MAX_RUNS_KEPT = 200

/**
 * Starts a run: enqueues the task for every agent of the swarm. A failure of an agent becomes the error of its answer.
 * @throws AppError `not_found`, `conflict` for a swarm that is disabled or empty, `limited` {current, limit} at five
 * concurrent runs.
 */
export async function startSwarmRun(deps: Base, ownerId: string, swarmId: string, task: string): Promise<SwarmRunRow> {
  return write(deps.db, (tx) => {
    const swarm = getSwarm(tx, ownerId, swarmId)
    if (!swarm.enabled) throw new AppError('conflict', 'Swarm is disabled', { code: 'SWARM_DISABLED' })
    if (swarm.agents.length === 0) throw new AppError('conflict', 'Swarm has no agents', { code: 'SWARM_EMPTY' })
    requireRunQuota(tx, ownerId)
    const run = insertRun(tx, deps.clock, swarm, task)
    for (const member of swarm.agents) {
      deps.enqueue(tx, ASK_MEMBER_JOB, { runId: run.id, agentId: idOf(member) }, { share: ownerId })
    }
    forgetOldRuns(tx, swarmId)
    return run
  })
}

/** Ends a run: waiting agents are not asked, and answering agents are interrupted. A finished run stays unchanged. */
export async function cancelRun(deps: Base, ownerId: string, swarmId: string, id: string): Promise<SwarmRunRow> {
  return write(deps.db, (tx) => {
    const run = getRun(tx, ownerId, swarmId, id)
    return run.state === 'running' ? endRun(tx, id, deps.clock.now()) : run
  })
}

/** Cancels all runs of an owner, in the caller's transaction. */
export function cancelAllRuns(tx: Tx, ownerId: string, now: Date): void {
  const isRunning = and(eq(swarmRuns.ownerId, ownerId), eq(swarmRuns.state, 'running'))
  for (const { id } of tx.select({ id: swarmRuns.id }).from(swarmRuns).where(isRunning).all()) endRun(tx, id, now)
}

function endRun(tx: Tx, id: string, now: Date): SwarmRunRow {
  const ended = { state: 'cancelled', finishedAt: now } as const
  tx.update(swarmAnswers)
    .set(ended)
    .where(and(eq(swarmAnswers.runId, id), inArray(swarmAnswers.state, ['queued', 'running'])))
    .run()
  return tx.update(swarmRuns).set(ended).where(eq(swarmRuns.id, id)).returning().get()
}

function requireRunQuota(tx: Tx, ownerId: string): void {
  const isRunning = and(eq(swarmRuns.ownerId, ownerId), eq(swarmRuns.state, 'running'))
  const current = countRows(tx, swarmRuns, isRunning)
  requireQuota({ current, limit: MAX_RUNS_AT_ONCE, message: 'Too many runs at once' })
}

function insertRun(tx: Tx, clock: Clock, swarm: SwarmRow, task: string): SwarmRunRow {
  const { id: swarmId, ownerId, summarizer } = swarm
  const row = {
    id: newId('run'),
    swarmId,
    ownerId,
    task,
    summarizer,
    state: 'running',
    startedAt: clock.now(),
  } as const
  const run = tx.insert(swarmRuns).values(row).returning().get()
  insertAnswers(tx, swarm, run)
  return run
}

function insertAnswers(tx: Tx, swarm: SwarmRow, { id: runId, task }: SwarmRunRow): void {
  const names = namesOf(tx, swarm)
  const answers = swarm.agents.map((member, position) => ({
    runId,
    agentId: idOf(member),
    // A deleted agent is asked too; its answer is the error that it was not found.
    agentName: names.get(idOf(member)) ?? idOf(member),
    position,
    message: toMessage(member, task),
    state: 'queued' as const,
  }))
  tx.insert(swarmAnswers).values(answers).run()
}

function namesOf(tx: Tx, swarm: SwarmRow): Map<string, string> {
  const isMember = and(inArray(agents.id, swarm.agents.map(idOf)), eq(agents.ownerId, swarm.ownerId))
  const rows = tx.select({ id: agents.id, name: agents.name }).from(agents).where(isMember).all()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

function toMessage(member: Member, task: string): string {
  if (typeof member === 'string') return task
  return [member.role && `Your role: ${member.role}`, member.prompt, task].filter(Boolean).join('\n\n')
}

function forgetOldRuns(tx: Tx, swarmId: string): void {
  const condition = eq(swarmRuns.swarmId, swarmId)
  const isOld = beyondNewest(tx, { condition, newest: swarmRuns.sequence, count: MAX_RUNS_KEPT })
  if (!isOld) return
  tx.delete(swarmRuns)
    .where(and(isOld, ne(swarmRuns.state, 'running')))
    .run()
}

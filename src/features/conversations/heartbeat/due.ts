import { and, asc, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { users } from '../../accounts/users/tables.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { type AdmitDeps, addRun, admitRuns, skipRun } from '../scheduled-tasks/runs.ts'
import { type HeartbeatRow, heartbeats } from './tables.ts'

const CHECK_MS = 15_000
/** Users whose agents one closure asks. */
const BATCH = 20

/** What an agent is asked. Agents of more than one make know the answer that means: nothing to do. */
const HEARTBEAT_PROMPT =
  'Heartbeat: this is a scheduled check, nobody is waiting. If something you were asked to watch or to do is due now, do it and say in short what you did. If not, answer only HEARTBEAT_OK.'

export type HeartbeatDeps = AdmitDeps & { db: Db }

/** Asks the agents that run or sleep of whoever turned the heartbeat on, when it is due. */
export function heartbeatJob(deps: HeartbeatDeps): RepeatingJob {
  return { name: 'heartbeat.due', everyMs: CHECK_MS, run: (signal) => sendDueHeartbeats(deps, signal) }
}

async function sendDueHeartbeats(deps: HeartbeatDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const due = listDue(deps)
    if (due.length > 0) {
      await write(deps.db, (tx) => {
        for (const userId of due) beat(deps, tx, userId)
        admitRuns(deps, tx)
      })
    }
    if (due.length < BATCH) return
  }
}

/** Due, or planned further away than one interval, which only a clock that went back can have done. */
function isDue(nowMs: number) {
  return sql`${heartbeats.nextHeartbeatAt} IS NOT NULL
    AND (${heartbeats.nextHeartbeatAt} <= ${nowMs} OR ${heartbeats.nextHeartbeatAt} > ${nowMs} + ${heartbeats.everyMs})`
}

function listDue({ db, clock }: HeartbeatDeps): string[] {
  return db
    .select({ userId: heartbeats.userId })
    .from(heartbeats)
    .innerJoin(users, eq(users.id, heartbeats.userId))
    .where(and(isDue(clock.now().getTime()), isNull(users.disabledAt)))
    .orderBy(asc(heartbeats.nextHeartbeatAt))
    .limit(BATCH)
    .all()
    .map(({ userId }) => userId)
}

/** Once, however often it was due while nobody looked; the next one is a whole interval from now. */
function beat(deps: HeartbeatDeps, tx: Tx, userId: string): void {
  const now = deps.clock.now()
  const settings = tx
    .select()
    .from(heartbeats)
    .where(and(eq(heartbeats.userId, userId), isDue(now.getTime())))
    .get()
  if (!settings?.nextHeartbeatAt) return
  const isMisplanned = settings.nextHeartbeatAt > now
  const asked = isMisplanned ? 0 : askAgents(deps, tx, settings, settings.nextHeartbeatAt)
  const nextHeartbeatAt = new Date(now.getTime() + settings.everyMs)
  tx.update(heartbeats)
    .set({ nextHeartbeatAt, ...(asked > 0 && { lastHeartbeatAt: now }) })
    .where(eq(heartbeats.userId, userId))
    .run()
}

/** How many were asked: not who is still busy with the last one. */
function askAgents(deps: HeartbeatDeps, tx: Tx, settings: HeartbeatRow, dueAt: Date): number {
  const asked = listAddressable(tx, settings).filter(({ id: agentId }) => {
    const common = { taskId: null, ownerId: settings.userId, agentId, dueAt }
    const request = { ...common, trigger: 'heartbeat', prompt: HEARTBEAT_PROMPT } as const
    const run = addRun(tx, request)
    if (!run) skipRun(tx, request, deps.clock.now())
    return run !== null
  })
  return asked.length
}

function listAddressable(tx: Tx, { userId, agentId }: HeartbeatRow): AgentRow[] {
  const isChosen = agentId === null ? undefined : eq(agents.id, agentId)
  return tx
    .select()
    .from(agents)
    .where(and(eq(agents.ownerId, userId), inArray(agents.status, ['running', 'sleeping']), isChosen))
    .orderBy(asc(agents.createdAt))
    .all()
}

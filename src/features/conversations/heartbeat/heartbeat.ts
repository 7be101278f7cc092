import { and, asc, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { users } from '../../accounts/users/tables.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { addRun, admitRuns, skipRun } from '../scheduled-tasks/runs.ts'
import { type ChangeHeartbeatRequest, DEFAULT_FREQUENCY, toMs } from './schemas.ts'
import { type HeartbeatRow, heartbeats } from './tables.ts'

/** Off by default, because a heartbeat costs tokens. */
const DEFAULTS = {
  agentId: null,
  frequency: DEFAULT_FREQUENCY,
  enabled: false,
  lastHeartbeatAt: null,
  nextHeartbeatAt: null,
} as const

/** A user's heartbeat settings; `updatedAt` null means defaults. */
export type HeartbeatSettings = Omit<HeartbeatRow, 'userId' | 'everyMs' | 'updatedAt'> & { updatedAt: Date | null }

export function findHeartbeat(db: Db | Tx, userId: string): HeartbeatSettings {
  const row = db.select().from(heartbeats).where(eq(heartbeats.userId, userId)).get()
  return row ?? { ...DEFAULTS, updatedAt: null }
}

/**
 * Stores the settings. Enabling the heartbeat or changing its interval plans the next one a whole interval ahead.
 * @throws AppError `not_found` for another user's agent.
 */
export async function changeHeartbeat(
  deps: Base,
  user: SignedInUser,
  request: ChangeHeartbeatRequest,
): Promise<HeartbeatSettings> {
  if (request.agentId) getAgent(deps.db, { kind: 'user', user }, request.agentId)
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const before = findHeartbeat(tx, user.id)
    const { frequency = before.frequency, enabled = before.enabled, agentId = before.agentId } = request
    const everyMs = toMs(frequency) ?? 0
    const isPlanned = before.nextHeartbeatAt !== null && frequency === before.frequency
    const planned = isPlanned ? before.nextHeartbeatAt : new Date(now.getTime() + everyMs)
    const nextHeartbeatAt = enabled ? planned : null
    const change = { frequency, everyMs, enabled, agentId, nextHeartbeatAt, updatedAt: now }
    return tx
      .insert(heartbeats)
      .values({ userId: user.id, ...change })
      .onConflictDoUpdate({ target: heartbeats.userId, set: change })
      .returning()
      .get()
  })
}

/** Restores the defaults: off. */
export async function resetHeartbeat(db: Db, userId: string): Promise<void> {
  await write(db, (tx) => tx.delete(heartbeats).where(eq(heartbeats.userId, userId)).run())
}

/** Turns the heartbeat off and keeps the settings, in the caller's transaction. */
export function switchOffHeartbeat(tx: Tx, userId: string, now: Date): void {
  tx.update(heartbeats)
    .set({ enabled: false, nextHeartbeatAt: null, updatedAt: now })
    .where(eq(heartbeats.userId, userId))
    .run()
}

const CHECK_MS = 15_000
/** Users per transaction. */
const BATCH = 20

/** Prompt of a heartbeat. Agents of several runtimes know the answer HEARTBEAT_OK for nothing to do. */
const HEARTBEAT_PROMPT =
  'Heartbeat: this is a scheduled check, nobody is waiting. If something you were asked to watch or to do is due now, do it and say in short what you did. If not, answer only HEARTBEAT_OK.'

/** Sends due heartbeats to the running and sleeping agents of users who enabled them. */
export function heartbeatJob(deps: Base): RepeatingJob {
  return { name: 'heartbeat.due', everyMs: CHECK_MS, run: (signal) => sendDueHeartbeats(deps, signal) }
}

async function sendDueHeartbeats(deps: Base, signal: AbortSignal): Promise<void> {
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

/**
 * Matches due heartbeats, and those planned further ahead than one interval, which happens only when the clock was set
 * back.
 */
function isDue(nowMs: number) {
  return sql`${heartbeats.nextHeartbeatAt} IS NOT NULL
    AND (${heartbeats.nextHeartbeatAt} <= ${nowMs} OR ${heartbeats.nextHeartbeatAt} > ${nowMs} + ${heartbeats.everyMs})`
}

function listDue({ db, clock }: Base): string[] {
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

/** Sends one heartbeat, however often it was due; the next one follows a whole interval later. */
function beat(deps: { clock: Clock }, tx: Tx, userId: string): void {
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

/** @returns the number of agents asked; agents that are still busy are skipped. */
function askAgents(deps: { clock: Clock }, tx: Tx, settings: HeartbeatRow, dueAt: Date): number {
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

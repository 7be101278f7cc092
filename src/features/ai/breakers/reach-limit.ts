import { and, eq, lt, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { LimitAction, LimitKind } from '../../../core/agents/day-limits.ts'
import { addDays, toDay } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { endIfUnwanted } from '../../agents/deployments/start.ts'
import type { AgentLocks } from '../../agents/operations/operations.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { actionOf, type CapsRow, describeAmount, limitOf } from './day-limits.ts'
import { agentDayCounts, capAlerts } from './tables.ts'

/** The job that stops an agent at a limit. */
const STOP_JOB = 'limits.stop'
const KEPT_DAYS = 31

/** A request of an agent's owner for more of something today; `amount` is in micro-USD for money. */
type MoreAsked = { agentId: string; kind: LimitKind; amount: number; day: string }
/** Asks an agent's owner. @returns the id of the approval; null when it was denied today. */
export type AskForMore = (tx: Tx, asked: MoreAsked) => string | null

export type ReachDeps = Pick<Base, 'clock' | 'enqueue'> & { sendNotice: SendNotice; askForMore: AskForMore }

/** The outcome at a limit; `approvalId` is the question to the owner. */
export type Reached = { kind: LimitKind; action: LimitAction; approvalId: string | null; message: string }

type Limited = { agent: Pick<AgentRow, 'id' | 'name' | 'ownerId'>; caps: CapsRow; day: string }

/** Performs the action that the owner set for a limit, and notifies them once. */
export function reachLimit(deps: ReachDeps, tx: Tx, { agent, caps, day }: Limited, kind: LimitKind): Reached {
  const { id: agentId, name, ownerId } = agent
  const limit = limitOf(caps, kind) ?? 0
  const action = toPossible(tx, agentId, actionOf(caps, kind))
  const isNews = noteReached(deps, tx, { agentId, day, kind })
  if (action === 'stop') stopAtLimit(deps, tx, agentId, describe(kind, limit))
  const approvalId = action === 'ask' && limit > 0 ? deps.askForMore(tx, { agentId, kind, amount: limit, day }) : null
  const message = `${describe(kind, limit)}. ${CONSEQUENCES[action]}`
  if (isNews && ownerId !== null && approvalId === null)
    deps.sendNotice(tx, { userId: ownerId, agent: { id: agentId, name }, kind: 'cap_reached', text: message })
  return { kind, action, approvalId, message }
}

/** An agent on its owner's machine cannot be stopped from here; it pauses instead. */
function toPossible(tx: Tx, agentId: string, action: LimitAction): LimitAction {
  if (action !== 'stop') return action
  const isOnMachine = and(eq(agents.id, agentId), eq(agents.runtime, 'machine'))
  return tx.select({ id: agents.id }).from(agents).where(isOnMachine).get() ? 'pause' : 'stop'
}

const CONSEQUENCES: Readonly<Record<LimitAction, string>> = {
  ask: 'The owner decides whether it may go on today.',
  pause: 'The agent pauses until midnight, or until its owner raises the limit.',
  stop: 'The agent is stopped until its owner starts it.',
}

function describe(kind: LimitKind, limit: number): string {
  return `Daily limit of ${describeAmount(kind, limit)} reached`
}

/** @returns whether this is the first time on that day. */
function noteReached({ clock }: ReachDeps, tx: Tx, row: { agentId: string; day: string; kind: LimitKind }): boolean {
  const reachedAt = clock.now()
  const target = [agentDayCounts.agentId, agentDayCounts.day, agentDayCounts.kind]
  const isUnset = sql`${agentDayCounts.reachedAt} IS NULL`
  const inserted = tx.insert(agentDayCounts).values({ ...row, reachedAt })
  return inserted.onConflictDoUpdate({ target, set: { reachedAt }, setWhere: isUnset }).run().changes > 0
}

function stopAtLimit({ clock, enqueue }: ReachDeps, tx: Tx, agentId: string, lastError: string): void {
  const isUp = and(eq(agents.id, agentId), sql`${agents.status} IN ('running', 'sleeping', 'provisioning')`)
  const stopped = { status: 'stopped', lastError, updatedAt: clock.now() } as const
  if (tx.update(agents).set(stopped).where(isUp).run().changes === 0) return
  recordAudit(tx, { actor: 'system', action: 'agent.stop-at-limit', target: agentId }, clock.now())
  enqueue(tx, STOP_JOB, { agentId }, { key: `limit:${agentId}` })
}

/** Stops the process or container of an agent that reached a limit. */
export function stopAtLimitJob(deps: {
  db: Db
  runtimes: Pick<Runtimes, 'runtimeOf'>
  agentLocks: Pick<AgentLocks, 'run'>
}): JobKind {
  return defineJob({
    kind: STOP_JOB,
    payload: z.object({ agentId: z.string() }),
    run: ({ agentId }) => deps.agentLocks.run(agentId, () => endIfUnwanted(deps, agentId)),
  })
}

/** Allows an agent `amount` more of something today, in the caller's transaction. */
export function allowMore(tx: Tx, { agentId, kind, amount, day }: MoreAsked): void {
  const target = [agentDayCounts.agentId, agentDayCounts.day, agentDayCounts.kind]
  const more = { extra: sql`${agentDayCounts.extra} + ${amount}`, reachedAt: null }
  tx.insert(agentDayCounts)
    .values({ agentId, day, kind, extra: amount })
    .onConflictDoUpdate({ target, set: more })
    .run()
  // The limit may be reached again today.
  tx.delete(capAlerts)
    .where(and(eq(capAlerts.agentId, agentId), eq(capAlerts.day, day)))
    .run()
}

/** Deletes the counts of an agent that no page shows any more. */
export function forgetOldCounts(tx: Tx, agentId: string, now: Date): void {
  const isOld = lt(agentDayCounts.day, toDay(addDays(now, -KEPT_DAYS)))
  tx.delete(agentDayCounts)
    .where(and(eq(agentDayCounts.agentId, agentId), isOld))
    .run()
}

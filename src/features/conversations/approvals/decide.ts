import { and, eq, gt, inArray, lte } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { agents } from '../../agents/registry/tables.ts'
import { hashOf } from './ask.ts'
import { enqueueResume } from './resume.ts'
import type { ApprovalUse } from './schemas.ts'
import { type ApprovalRow, approvals } from './tables.ts'

const EXPIRY_LOOK_MS = 15_000
const EXPIRY_BATCH = 100

export type DecideDeps = { db: Db; clock: Clock; enqueue: Enqueue; approvalExpiryMinutes: number }

/** Who decides, and where: on the dashboard, or in a channel that knows them as the owner, there by `personId`. */
export type Decider = { userId: string; via: string; address?: string | null; personId?: string }

/**
 * The owner allows or refuses what an agent asked for. What is approved may be done once, within the same time that a
 * question waits. The channels of an agent decide by this as well, as the owner whom they know.
 * @throws AppError `not_found` for a missing question and for someone else's; `conflict` NOT_WAITING when it was decided or
 * has expired.
 */
export function decideApproval(
  deps: DecideDeps,
  by: Decider,
  id: string,
  decision: 'approved' | 'denied',
): Promise<ApprovalRow> {
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const asked = getOwnApproval(tx, by.userId, id)
    const isWaiting = and(eq(approvals.id, asked.id), eq(approvals.status, 'waiting'), gt(approvals.expiresAt, now))
    const expiresAt =
      decision === 'approved' ? new Date(now.getTime() + deps.approvalExpiryMinutes * 60_000) : asked.expiresAt
    const change = { status: decision, decidedBy: by.userId, decidedVia: by.via, decidedAt: now, expiresAt }
    const decided = tx.update(approvals).set(change).where(isWaiting).returning().get()
    if (!decided) throw new AppError('conflict', 'This question does not wait for an answer', { code: 'NOT_WAITING' })
    recordDecision(tx, decided, by, now)
    if (decision === 'approved') enqueueResume(tx, deps.enqueue, decided)
    return decided
  })
}

/**
 * Uses up an approval, once, for exactly what was approved. @throws AppError `not_found` for another agent's; `conflict`
 * NOT_APPROVED when it is not approved, was used, has expired, or was given for something else.
 */
export function claimApproval(
  deps: { db: Db; clock: Clock },
  agentId: string,
  id: string,
  use: ApprovalUse,
): Promise<ApprovalRow> {
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const { argumentsHash } = getAgentApproval(tx, agentId, id)
    const isGood = and(eq(approvals.id, id), eq(approvals.status, 'approved'), gt(approvals.expiresAt, now))
    const isSame = argumentsHash === hashOf(use)
    const used = isSame && tx.update(approvals).set({ status: 'used', usedAt: now }).where(isGood).returning().get()
    if (!used) throw new AppError('conflict', 'The owner has not approved that', { code: 'NOT_APPROVED' })
    recordAudit(tx, { actor: agentId, action: 'approval.used', target: agentId, detail: toDetail(used) }, now)
    return used
  })
}

/** @throws AppError `not_found` for a missing question and for another agent's. */
export function getAgentApproval(db: Db | Tx, agentId: string, id: string): ApprovalRow {
  const isThis = and(eq(approvals.id, id), eq(approvals.agentId, agentId))
  const row = db.select().from(approvals).where(isThis).get()
  if (!row) throw new AppError('not_found', 'Approval not found')
  return row
}

/** What has waited for too long is denied, and what was approved and never done may be done no more. */
export function expireApprovalsJob(deps: { db: Db; clock: Clock }): RepeatingJob {
  return { name: 'approvals.expire', everyMs: EXPIRY_LOOK_MS, run: (signal) => expireApprovals(deps, signal) }
}

async function expireApprovals({ db, clock }: { db: Db; clock: Clock }, signal: AbortSignal): Promise<void> {
  for (;;) {
    const isOver = and(inArray(approvals.status, ['waiting', 'approved']), lte(approvals.expiresAt, clock.now()))
    if (!db.select({ id: approvals.id }).from(approvals).where(isOver).limit(1).get() || signal.aborted) return
    await write(db, (tx) => {
      const now = clock.now()
      for (const { id } of tx.select({ id: approvals.id }).from(approvals).where(isOver).limit(EXPIRY_BATCH).all()) {
        const over = tx.update(approvals).set({ status: 'expired' }).where(eq(approvals.id, id)).returning().get()
        recordDecision(tx, over, null, now)
      }
    })
  }
}

/** Denies what waits or was approved of the tools that `isOff` names, in the closure that took them from the agent. */
export function denyApprovalsOfTools(tx: Tx, agentId: string, isOff: (tool: string) => boolean, now: Date): void {
  const isOpen = and(eq(approvals.agentId, agentId), inArray(approvals.status, ['waiting', 'approved']))
  const open = tx.select().from(approvals).where(isOpen).all()
  for (const { id } of open.filter(({ tool }) => isOff(tool))) {
    const change = { status: 'denied', decidedVia: 'platform', decidedAt: now } as const
    recordDecision(tx, tx.update(approvals).set(change).where(eq(approvals.id, id)).returning().get(), null, now)
  }
}

/** Denies whatever waits or was approved for the agents of a user, in the caller's closure. */
export function denyAllApprovals(tx: Tx, ownerId: string, now: Date): void {
  const own = tx.select({ id: agents.id }).from(agents).where(eq(agents.ownerId, ownerId))
  const isOpen = inArray(approvals.status, ['waiting', 'approved'])
  tx.update(approvals)
    .set({ status: 'denied', decidedVia: 'platform', decidedAt: now })
    .where(and(inArray(approvals.agentId, own), isOpen))
    .run()
}

function getOwnApproval(tx: Tx, userId: string, id: string): ApprovalRow {
  const row = tx
    .select({ approval: approvals })
    .from(approvals)
    .innerJoin(agents, eq(agents.id, approvals.agentId))
    .where(and(eq(approvals.id, id), eq(agents.ownerId, userId)))
    .get()
  if (!row) throw new AppError('not_found', 'Approval not found')
  return row.approval
}

function recordDecision(tx: Tx, approval: ApprovalRow, by: Decider | null, now: Date): void {
  recordAudit(
    tx,
    {
      actor: by?.userId ?? 'system',
      action: `approval.${approval.status}`,
      target: approval.agentId,
      detail: { ...toDetail(approval), ...(by && { via: by.via, ...(by.personId && { personId: by.personId }) }) },
      address: by?.address ?? null,
    },
    now,
  )
}

/** Arguments stay out of the log, for they may hold a secret: their hash says which they were. */
function toDetail({ id, tool, argumentsHash }: ApprovalRow) {
  return { approvalId: id, tool, argumentsHash }
}

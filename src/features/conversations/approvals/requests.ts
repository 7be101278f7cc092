import { and, desc, eq, gt, inArray, lt, type SQL } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { sha256 } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Tx } from '../../../db/open.ts'
import { readPage } from '../../../db/pages.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { users } from '../../accounts/users/tables.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { type Approval, type ApprovalList, type ApprovalQuery, type ApprovalRequest, RAISE_LIMIT } from './schemas.ts'
import { type ApprovalRow, approvals } from './tables.ts'

const MAX_WAITING = 20
/** Further requests within this time cause no notification. */
const NOTIFY_PAUSE_MS = 10 * 60_000

/**
 * Stores an approval request and notifies the owner. Repeating a request, for example after a restart of the agent,
 * returns the one that is pending or approved and unused.
 * @throws AppError `forbidden` for an agent without an owner, and TOOL_OFF for a disabled tool; `limited` while 20
 * requests are pending.
 */
export async function askOwner(
  deps: Base & {
    sendNotice: SendNotice
    approvalExpiryMinutes: number
    /** @throws AppError `forbidden` TOOL_OFF for a tool that was disabled since the turn began. */
    requireToolOn(tx: Tx, agentId: string, tool: string): void
  },
  agentId: string,
  request: ApprovalRequest,
): Promise<ApprovalRow> {
  if (request.tool === RAISE_LIMIT) throw new AppError('invalid', `${RAISE_LIMIT} is no tool of agents`)
  const argumentsHash = hashOf(request)
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    deps.requireToolOn(tx, agentId, request.tool)
    const open = findOpen(tx, agentId, argumentsHash, now)
    if (open) return open
    const owner = requireOwner(tx, agentId)
    requireAskQuota(tx, agentId, now)
    const wasNotifiedBefore = wasNotified(tx, owner.id, now)
    const expiresAt = new Date(now.getTime() + deps.approvalExpiryMinutes * 60_000)
    const asked = { ...request, id: newId('apr'), agentId, argumentsHash, status: 'waiting', expiresAt } as const
    if (!wasNotifiedBefore) notifyOwner(deps, tx, owner, agentId, request.tool)
    return tx
      .insert(approvals)
      .values({ ...asked, createdAt: now })
      .returning()
      .get()
  })
}

function notifyOwner(
  { sendNotice }: { sendNotice: SendNotice },
  tx: Tx,
  owner: Owner,
  agentId: string,
  tool: string,
): void {
  const text = `The agent wants to use ${tool}. See the request on the approvals page; without a response it expires and is denied.`
  sendNotice(tx, { userId: owner.id, agent: { id: agentId, name: owner.agentName }, kind: 'approval_wanted', text })
}

/** Identifies equal requests. */
export function hashOf(request: { tool: string; arguments: string }): string {
  return sha256(JSON.stringify([request.tool, request.arguments]))
}

function findOpen(tx: Tx, agentId: string, argumentsHash: string, now: Date): ApprovalRow | undefined {
  const isSame = and(eq(approvals.agentId, agentId), eq(approvals.argumentsHash, argumentsHash))
  const isOpen = and(inArray(approvals.status, ['waiting', 'approved']), gt(approvals.expiresAt, now))
  return tx.select().from(approvals).where(and(isSame, isOpen)).get()
}

type Owner = { id: string; agentName: string }

function requireOwner(tx: Tx, agentId: string): Owner {
  const owner = tx
    .select({ id: users.id, agentName: agents.name })
    .from(agents)
    .innerJoin(users, eq(users.id, agents.ownerId))
    .where(eq(agents.id, agentId))
    .get()
  if (!owner) throw new AppError('forbidden', 'This agent has no owner who could approve that', { code: 'NO_OWNER' })
  return owner
}

function requireAskQuota(tx: Tx, agentId: string, now: Date): void {
  const isWaiting = and(eq(approvals.status, 'waiting'), gt(approvals.expiresAt, now))
  const ofAgent = and(eq(approvals.agentId, agentId), isWaiting)
  const current = countRows(tx, approvals, ofAgent)
  const message = `${MAX_WAITING} questions to the owner wait already`
  requireQuota({ current, limit: MAX_WAITING, message, extra: { limit: MAX_WAITING } })
}

function wasNotified(tx: Tx, ownerId: string, now: Date): boolean {
  const isRecent = gt(approvals.createdAt, new Date(now.getTime() - NOTIFY_PAUSE_MS))
  const recent = tx
    .select({ id: approvals.id })
    .from(approvals)
    .innerJoin(agents, eq(agents.id, approvals.agentId))
    .where(and(eq(agents.ownerId, ownerId), eq(approvals.status, 'waiting'), isRecent))
    .limit(1)
    .get()
  return recent !== undefined
}

/**
 * Returns a page of the requests of a user's agents, or of one agent.
 * @throws AppError `not_found` for another user's agent.
 */
export function listApprovals(deps: Base, user: SignedInUser, query: ApprovalQuery): ApprovalList {
  const { agentId, status, limit, before } = query
  if (agentId) getAgent(deps.db, { kind: 'user', user }, agentId)
  const now = deps.clock.now()
  const own = deps.db.select({ id: agents.id }).from(agents).where(eq(agents.ownerId, user.id))
  const selection = deps.db
    .select({ approval: approvals, agentName: agents.name })
    .from(approvals)
    .innerJoin(agents, eq(agents.id, approvals.agentId))
    .where(
      and(
        // Filtering by agent uses an index, so other users' requests are not scanned.
        agentId ? eq(approvals.agentId, agentId) : inArray(approvals.agentId, own),
        before ? lt(approvals.sequence, before) : undefined,
        status ? hasStatus(status, now) : undefined,
      ),
    )
    .orderBy(desc(approvals.sequence))
  const { rows, last } = readPage(selection, limit)
  return {
    approvals: rows.map(({ approval, agentName }) => toApproval(approval, agentName, now)),
    next: last?.approval.sequence ?? null,
  }
}

/** Returns the request with its status at `now`, because the expiry job runs later. */
export function toApproval(row: ApprovalRow, agentName: string, now: Date): Approval {
  return {
    id: row.id,
    agentId: row.agentId,
    agentName,
    tool: row.tool,
    arguments: row.arguments,
    session: row.session,
    status: approvalStatusAt(row, now),
    decidedVia: row.decidedVia,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    decidedAt: row.decidedAt?.toISOString() ?? null,
  }
}

export function approvalStatusAt({ status, expiresAt }: ApprovalRow, now: Date): ApprovalRow['status'] {
  return (status === 'waiting' || status === 'approved') && expiresAt <= now ? 'expired' : status
}

function hasStatus(status: ApprovalRow['status'], now: Date): SQL | undefined {
  const is = eq(approvals.status, status)
  if (status === 'waiting' || status === 'approved') return and(is, gt(approvals.expiresAt, now))
  return is
}

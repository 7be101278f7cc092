import { and, desc, eq, gt, inArray, lt, type SQL } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { readPage } from '../../../db/pages/read-page.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Approval, ApprovalList, ApprovalQuery } from './schemas.ts'
import { type ApprovalRow, approvals } from './tables.ts'

export type ListDeps = { db: Db; clock: Clock }

/** A page of what the agents of a user asked for, or one of them. @throws AppError `not_found` for someone else's agent. */
export function listApprovals(deps: ListDeps, user: SignedInUser, query: ApprovalQuery): ApprovalList {
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
        // By their agents, whose index ends the search: nobody else's questions are looked at.
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

/** A question with its status as it is at `now`: the job that writes expiry down comes a little later. */
export function toApproval(row: ApprovalRow, agentName: string, now: Date): Approval {
  return {
    id: row.id,
    agentId: row.agentId,
    agentName,
    tool: row.tool,
    arguments: row.arguments,
    session: row.session,
    status: statusOf(row, now),
    decidedVia: row.decidedVia,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    decidedAt: row.decidedAt?.toISOString() ?? null,
  }
}

export function statusOf({ status, expiresAt }: ApprovalRow, now: Date): ApprovalRow['status'] {
  return (status === 'waiting' || status === 'approved') && expiresAt <= now ? 'expired' : status
}

function hasStatus(status: ApprovalRow['status'], now: Date): SQL | undefined {
  const is = eq(approvals.status, status)
  if (status === 'waiting' || status === 'approved') return and(is, gt(approvals.expiresAt, now))
  return is
}

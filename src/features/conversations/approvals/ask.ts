import { and, eq, gt, inArray } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { sha256 } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { TellOwner } from '../../accounts/notices/tell.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { ApprovalRequest } from './schemas.ts'
import { type ApprovalRow, approvals } from './tables.ts'

const MAX_WAITING = 20
/** Further questions within this time are not told one by one. */
const TELL_PAUSE_MS = 10 * 60_000

export type AskDeps = {
  db: Db
  clock: Clock
  tellOwner: TellOwner
  approvalExpiryMinutes: number
  /** @throws AppError `forbidden` TOOL_OFF for a tool that was switched off since the turn began. */
  requireToolOn(tx: Tx, agentId: string, tool: string): void
}

/**
 * Puts a question of an agent before its owner, and tells them that one waits. The same question again, such as after a
 * restart of the agent, is the one that waits or was approved already and not used.
 * @throws AppError `forbidden` for an agent without an owner and TOOL_OFF for a tool it may not use, `limited` while 20 of its questions wait.
 */
export async function askOwner(deps: AskDeps, agentId: string, request: ApprovalRequest): Promise<ApprovalRow> {
  const argumentsHash = hashOf(request)
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    deps.requireToolOn(tx, agentId, request.tool)
    const open = findOpen(tx, agentId, argumentsHash, now)
    if (open) return open
    const owner = requireOwner(tx, agentId)
    requireAskQuota(tx, agentId, now)
    const wasTold = isToldOf(tx, owner.id, now)
    const expiresAt = new Date(now.getTime() + deps.approvalExpiryMinutes * 60_000)
    const asked = { ...request, id: newId('apr'), agentId, argumentsHash, status: 'waiting', expiresAt } as const
    if (!wasTold) notifyOwner(deps, tx, owner, agentId, request.tool)
    return tx
      .insert(approvals)
      .values({ ...asked, createdAt: now })
      .returning()
      .get()
  })
}

function notifyOwner({ tellOwner }: AskDeps, tx: Tx, owner: Owner, agentId: string, tool: string): void {
  const text = `It wants to use ${tool}, and must not without you. The approvals page shows what exactly; without an answer it is denied by itself.`
  tellOwner(tx, { userId: owner.id, agent: { id: agentId, name: owner.agentName }, kind: 'approval_wanted', text })
}

/** What makes two questions the same one. */
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

function isToldOf(tx: Tx, ownerId: string, now: Date): boolean {
  const isRecent = gt(approvals.createdAt, new Date(now.getTime() - TELL_PAUSE_MS))
  const recent = tx
    .select({ id: approvals.id })
    .from(approvals)
    .innerJoin(agents, eq(agents.id, approvals.agentId))
    .where(and(eq(agents.ownerId, ownerId), eq(approvals.status, 'waiting'), isRecent))
    .limit(1)
    .get()
  return recent !== undefined
}

import { and, desc, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import type { Tx } from '../../../db/open.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { findAgentRow } from '../../agents/registry/agents.ts'
import { describeAmount } from '../../ai/breakers/day-limits.ts'
import { type AskForMore, allowMore } from '../../ai/breakers/reach-limit.ts'
import { approvalStatusAt, hashOf } from './requests.ts'
import { RAISE_LIMIT, RaisedLimit } from './schemas.ts'
import { type ApprovalRow, approvals } from './tables.ts'

/** Creates the function that asks owners to raise a daily limit. A request that was denied is not repeated that day. */
export function createAskForMore({
  clock,
  sendNotice,
  approvalExpiryMinutes,
}: {
  clock: Clock
  sendNotice: SendNotice
  approvalExpiryMinutes: number
}): AskForMore {
  return (tx, { agentId, kind, amount, day }) => {
    const agent = findAgentRow(tx, agentId)
    if (!agent?.ownerId) return null
    const now = clock.now()
    const request = { tool: RAISE_LIMIT, arguments: JSON.stringify({ limit: kind, amount, day }) }
    const argumentsHash = hashOf(request)
    const isSame = and(eq(approvals.agentId, agentId), eq(approvals.argumentsHash, argumentsHash))
    const last = tx.select().from(approvals).where(isSame).orderBy(desc(approvals.sequence)).limit(1).get()
    const status = last && approvalStatusAt(last, now)
    if (last && status === 'waiting') return last.id
    if (status === 'denied' || status === 'expired') return null
    const id = newId('apr')
    const expiresAt = new Date(now.getTime() + approvalExpiryMinutes * 60_000)
    tx.insert(approvals)
      .values({ ...request, id, agentId, argumentsHash, status: 'waiting', expiresAt, createdAt: now })
      .run()
    const text = `The agent has reached its daily limit of ${describeAmount(kind, amount)}. Allow as much again today on the approvals page, or deny it.`
    sendNotice(tx, { userId: agent.ownerId, agent: { id: agentId, name: agent.name }, kind: 'approval_wanted', text })
    return id
  }
}

/** Carries out an approved request for more; returns false for any other approval. */
export function raiseLimit(tx: Tx, approval: ApprovalRow): boolean {
  if (approval.tool !== RAISE_LIMIT) return false
  const { limit, amount, day } = RaisedLimit.parse(JSON.parse(approval.arguments))
  allowMore(tx, { agentId: approval.agentId, kind: limit, amount, day })
  return true
}

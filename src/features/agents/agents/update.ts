import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal, SignedInUser } from '../../../http/env.ts'
import { isLarger } from '../deployments/spec.ts'
import { ownedBy } from '../registry/list.ts'
import type { UpdateAgentRequest } from '../registry/schemas.ts'
import { type AgentRow, agents } from '../registry/tables.ts'

/**
 * An agent's plan is its size, and users pay for theirs.
 * @throws AppError `payment_required` when `plan` is larger than what `user` pays for.
 */
export function requireSize(user: SignedInUser, plan: string | undefined): void {
  if (plan === undefined || user.isAdmin || !isLarger(plan, user.plan)) return
  throw new AppError('payment_required', 'Your plan does not include agents of this size', { code: 'PLAN_REQUIRED' })
}

/**
 * Changes plan and provider; what the request leaves out stays.
 * @throws AppError `not_found` for a missing agent and for someone else's.
 */
export async function updateAgent(
  deps: { db: Db; clock: Clock },
  principal: Principal,
  id: string,
  request: UpdateAgentRequest,
): Promise<AgentRow> {
  const plan = request.plan ?? request.config?.plan
  const aiProvider = request.aiProvider ?? request.config?.aiProvider
  return changeOwnRow(deps, principal, id, { ...(plan && { plan }), ...(aiProvider && { aiProvider }) })
}

/** Gives an agent another name. @throws AppError `not_found` for a missing agent and for someone else's. */
export async function renameAgent(
  deps: { db: Db; clock: Clock },
  principal: Principal,
  id: string,
  name: string,
): Promise<AgentRow> {
  return changeOwnRow(deps, principal, id, { name })
}

async function changeOwnRow(
  deps: { db: Db; clock: Clock },
  principal: Principal,
  id: string,
  columns: Partial<AgentRow>,
): Promise<AgentRow> {
  const change = { ...columns, updatedAt: deps.clock.now() }
  const isOwn = and(eq(agents.id, id), ownedBy(principal))
  const changed = await write(deps.db, (tx) => tx.update(agents).set(change).where(isOwn).returning().get())
  if (!changed) throw new AppError('not_found', 'Agent not found')
  return changed
}

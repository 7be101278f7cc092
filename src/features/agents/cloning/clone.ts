import { eq } from 'drizzle-orm'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once, SignedInUser } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { requestOperation } from '../operations/operations.ts'
import { type CreateDeps, insertAgent } from '../registry/create.ts'
import { getAgent } from '../registry/list.ts'
import { requireAgentQuota, requireProvisioning, requireSubscription } from '../registry/quota.ts'
import { withinPlan } from '../registry/size.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { type BookClonePayment, claimTransfer, type PaymentDeps, requirePayment } from './payment.ts'
import type { CloneRequest } from './schemas.ts'

export type CloneDeps = PaymentDeps & { enqueue: Enqueue; killSwitch: boolean; bookClonePayment: BookClonePayment }

/** Makes the wallet of an agent, once. @returns its address. */
export type OpenAgentWallet = (userId: string, agentId: string) => Promise<string>

/**
 * Makes a child of one of the user's agents: its settings without its secrets, one generation on, deployed in the
 * background. The payment is used up in the closure that makes it, and only then.
 * @throws AppError `unavailable` when provisioning is switched off or the chain cannot be asked, `not_found` for a parent
 * that is not the user's, `payment_required` without a subscription or for a proof that does not hold, `limited` at the cap,
 * `conflict` for a payment that was used.
 */
export async function cloneAgent(
  deps: CloneDeps,
  user: SignedInUser,
  request: CloneRequest,
  note: Once['note'],
): Promise<AgentRow> {
  const principal = { kind: 'user', user } as const
  requireProvisioning(deps)
  getAgent(deps.db, principal, request.parentAgentId)
  if (!user.isAdmin) requireSubscription(deps.db, user)
  const transfers = await requirePayment(deps, user.id, request.paymentProof)
  const { transactionHash } = request.paymentProof
  const { chainId } = deps.clonePayments.terms
  return write(deps.db, (tx) => {
    const parent = getAgent(tx, principal, request.parentAgentId)
    if (!user.isAdmin) requireAgentQuota(tx, user, undefined)
    const child = insertChild(deps, tx, { user, parent, request })
    claimTransfer(tx, deps, { chainId, transactionHash, transfers }, child.id, deps.clock.now())
    note(tx, child.id)
    requestOperation(deps, tx, child.id, { kind: 'deploy', requestedBy: user.id })
    return child
  })
}

type Family = { user: SignedInUser; parent: AgentRow; request: CloneRequest }

function insertChild(deps: CreateDeps, tx: Tx, { user, parent, request }: Family): AgentRow {
  const child = insertAgent(deps, tx, {
    ownerId: user.id,
    name: request.name,
    model: parent.model,
    // The parent may be from a time when its owner paid for a larger plan.
    plan: withinPlan({ kind: 'user', user }, parent.plan),
    aiProvider: parent.aiProvider,
    status: 'provisioning',
  })
  const inherited = {
    parentId: parent.id,
    config: parent.config,
    image: parent.image,
    specialization: request.specialization,
    // Interface 4.4: the clone gets generation + 1.
    generation: (request.generation ?? parent.generation) + 1,
  }
  tx.update(agents).set(inherited).where(eq(agents.id, child.id)).run()
  return { ...child, ...inherited }
}

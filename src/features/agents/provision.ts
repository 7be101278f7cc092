import { and, eq } from 'drizzle-orm'
import type { Backend, Caller } from '../../adapters/backend.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { SignedInUser } from '../../http/env.ts'
import type { Catalogue } from '../ai/catalogue.ts'
import { findPlan, PLANS, WEB_AGENT_LIMITS } from '../plans/plans.ts'
import { type CreateDeps, DEFAULT_PLAN, insertAgent } from './create.ts'
import { countAgents } from './list.ts'
import type { ProvisionRequest } from './schemas.ts'
import { type AgentRow, agents } from './tables.ts'

export type ProvisionDeps = CreateDeps & {
  db: Db
  log: Log
  backend: Pick<Backend, 'deploy'>
  catalogue: Pick<Catalogue, 'findDefault'>
  killSwitch: boolean
}

/**
 * Creates an agent for `owner` and waits up to 15 s until it runs. Admins skip subscription and cap (Spec 4.4).
 * @returns the row: `running`, `provisioning` when it takes longer, or `error`: a refused deployment is an outcome.
 * @throws AppError `payment_required` without a subscription, `limited` {current, limit} at the cap, `unavailable` when
 * provisioning is switched off.
 */
export async function provisionAgent(
  deps: ProvisionDeps,
  owner: SignedInUser,
  request: ProvisionRequest,
  caller: Caller,
): Promise<AgentRow> {
  const agent = await createForOwner(deps, owner, request)
  return waitUntilDeployed(deps, agent, caller)
}

/** As `provisionAgent`, without waiting: the deployment is asked for, and its progress can be followed. */
export async function provisionAgentInBackground(
  deps: ProvisionDeps,
  owner: SignedInUser,
  request: ProvisionRequest,
  caller: Caller,
): Promise<AgentRow> {
  const agent = await createForOwner(deps, owner, request)
  waitUntilDeployed(deps, agent, caller).catch((error) =>
    deps.log.error({ agent: agent.id, error: errorMessage(error) }, 'provisioning failed'),
  )
  return agent
}

async function createForOwner(deps: ProvisionDeps, owner: SignedInUser, request: ProvisionRequest): Promise<AgentRow> {
  if (deps.killSwitch) throw new AppError('unavailable', 'Provisioning is temporarily disabled. Contact support.')
  if (!owner.isAdmin) requireSubscription(owner)
  const model = request.model ?? defaultModel(deps.catalogue, owner)
  return write(deps.db, (tx) => {
    if (!owner.isAdmin) requireRoom(tx, owner, request.tier)
    return insertAgent(deps, tx, {
      ownerId: owner.id,
      name: request.name,
      model,
      plan: request.tier ?? DEFAULT_PLAN,
      aiProvider: request.config?.aiProvider ?? (model.startsWith('claude-opus') ? 'anthropic' : 'openrouter'),
      status: 'provisioning',
    })
  })
}

function requireSubscription(owner: SignedInUser): void {
  if (!findPlan(owner.plan) || !owner.subscriptionId) {
    throw new AppError('payment_required', 'Active subscription required to provision agents', {
      code: 'SUBSCRIPTION_REQUIRED',
    })
  }
}

/** The smaller of what the owner's plan and the asked-for tier allow: a tier is a size, it cannot widen a plan. */
function requireRoom(tx: Tx, owner: SignedInUser, tier: string | undefined): void {
  const plan = findPlan(owner.plan)
  const ofPlan = plan ? plan.agents : 1
  const ofTier = tier ? (WEB_AGENT_LIMITS[tier] ?? 1) : null
  const limit = Math.min(ofPlan ?? Number.POSITIVE_INFINITY, ofTier ?? Number.POSITIVE_INFINITY)
  const current = countAgents(tx, owner.id)
  if (current >= limit)
    throw new AppError('limited', `Agent limit reached for ${tier ?? owner.plan} tier`, { current, limit })
}

function defaultModel(catalogue: Pick<Catalogue, 'findDefault'>, owner: SignedInUser): string {
  const plan = owner.isAdmin ? PLANS.network : (findPlan(owner.plan) ?? PLANS.solo)
  return catalogue.findDefault(plan)?.id ?? 'default'
}

/** Status is the deployment's business; only when the backend could not even be asked is it ours to say so. */
async function waitUntilDeployed(deps: ProvisionDeps, agent: AgentRow, caller: Caller): Promise<AgentRow> {
  const { id: agentId, name, model, plan, aiProvider } = agent
  try {
    await deps.backend.deploy({ agentId, name, config: { plan, aiProvider, model } }, caller)
  } catch (error) {
    deps.log.error({ agent: agentId, error: errorMessage(error) }, 'deployment was refused')
    await write(deps.db, (tx) => markRefused(tx, agentId, deps.clock.now()))
  }
  return deps.db.select().from(agents).where(eq(agents.id, agentId)).get() ?? agent
}

function markRefused(tx: Tx, agentId: string, now: Date): void {
  tx.update(agents)
    .set({ status: 'error', updatedAt: now })
    .where(and(eq(agents.id, agentId), eq(agents.status, 'provisioning')))
    .run()
}

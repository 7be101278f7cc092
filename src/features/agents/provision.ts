import { and, eq } from 'drizzle-orm'
import type { Backend, Caller } from '../../adapters/backend.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { Once, SignedInUser } from '../../http/env.ts'
import { type Catalogue, PREMIUM_MODEL } from '../ai/catalogue.ts'
import { findPlan, PLANS } from '../plans/plans.ts'
import { changeSettings } from './config.ts'
import { type CreateDeps, DEFAULT_PLAN, insertAgent } from './create.ts'
import { getAgent } from './list.ts'
import { requireProvisioning, requireRoom, requireSubscription } from './provision-room.ts'
import type { ProvisionRequest } from './schemas.ts'
import { type AgentRow, agents } from './tables.ts'

export type DeployDeps = CreateDeps & { db: Db; log: Log; backend: Pick<Backend, 'deploy'> }
export type ProvisionDeps = DeployDeps & {
  catalogue: Pick<Catalogue, 'findDefault'>
  killSwitch: boolean
  /** Whose models agents use unless something else is said: the aggregator's. */
  defaultAiProvider: string
}

/** Who orders an agent, and whether it was made already. */
export type Order = Caller & Once

/** Spec 4.4: whoever names the premium model gets its vendor; everybody else the configured provider. */
const PREMIUM_NAMES: readonly string[] = ['claude-opus-4-6', PREMIUM_MODEL]
const PREMIUM_PROVIDER = 'anthropic'

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
  order: Order,
): Promise<AgentRow> {
  const agent = await createForOwner(deps, owner, request, order)
  return waitUntilDeployed(deps, agent, order)
}

/** As `provisionAgent`, without waiting: the deployment is asked for, and its progress can be followed. */
export async function provisionAgentInBackground(
  deps: ProvisionDeps,
  owner: SignedInUser,
  request: ProvisionRequest,
  order: Order,
): Promise<AgentRow> {
  const agent = await createForOwner(deps, owner, request, order)
  waitUntilDeployed(deps, agent, order).catch((error) =>
    deps.log.error({ agent: agent.id, error: errorMessage(error) }, 'provisioning failed'),
  )
  return agent
}

async function createForOwner(
  deps: ProvisionDeps,
  owner: SignedInUser,
  request: ProvisionRequest,
  { made, note }: Order,
): Promise<AgentRow> {
  if (made) return getAgent(deps.db, { kind: 'user', user: owner }, made)
  requireProvisioning(deps)
  if (!owner.isAdmin) requireSubscription(owner)
  const model = request.model ?? defaultModel(deps.catalogue, owner)
  const { plan: _plan, aiProvider = deps.defaultAiProvider, ...settings } = request.config ?? {}
  return write(deps.db, (tx) => {
    if (!owner.isAdmin) requireRoom(tx, owner, request.tier)
    const agent = insertAgent(deps, tx, {
      ownerId: owner.id,
      name: request.name,
      model,
      plan: request.tier ?? DEFAULT_PLAN,
      aiProvider: toProvider(model, aiProvider),
      status: 'provisioning',
    })
    note(tx, agent.id)
    return changeSettings(deps, tx, agent, settings)
  })
}

/** Whose API serves `model`, where `configured` serves all but the premium one. */
export function toProvider(model: string, configured: string): string {
  return PREMIUM_NAMES.includes(model) ? PREMIUM_PROVIDER : configured
}

/** The model of an agent whose owner names none: the best one that is configured for their plan. */
export function defaultModel(catalogue: Pick<Catalogue, 'findDefault'>, owner: SignedInUser): string {
  const plan = owner.isAdmin ? PLANS.network : (findPlan(owner.plan) ?? PLANS.solo)
  return catalogue.findDefault(plan)?.id ?? 'default'
}

/**
 * Asks the backend to deploy a new agent and waits for it, 15 s at most. Status is the deployment's business; only when the
 * backend could not even be asked is it ours to say so.
 */
export async function waitUntilDeployed(deps: DeployDeps, agent: AgentRow, caller: Caller): Promise<AgentRow> {
  if (agent.status !== 'provisioning') return agent
  const { id: agentId, name, model, plan, aiProvider } = agent
  try {
    await deps.backend.deploy({ agentId, name, config: { plan, aiProvider, model } }, caller)
  } catch (error) {
    deps.log.error({ agent: agentId, error: errorMessage(error) }, 'deployment was refused')
    const reason = error instanceof AppError ? error.message : 'The deployment could not be asked for'
    await write(deps.db, (tx) => markRefused(tx, agentId, reason, deps.clock.now()))
  }
  return deps.db.select().from(agents).where(eq(agents.id, agentId)).get() ?? agent
}

function markRefused(tx: Tx, agentId: string, reason: string, now: Date): void {
  tx.update(agents)
    .set({ status: 'error', lastError: reason, updatedAt: now })
    .where(and(eq(agents.id, agentId), eq(agents.status, 'provisioning')))
    .run()
}

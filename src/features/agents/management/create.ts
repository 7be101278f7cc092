import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once, Principal, SignedInUser } from '../../../http/env.ts'
import { findPlan, PLANS, type Plan, PREMIUM_MODEL } from '../../accounts/plans/plans.ts'
import type { Base } from '../../base.ts'
import { joinOrRequest, waitForOutcome } from '../deployments/request.ts'
import { requestOperation } from '../operations/operations.ts'
import { getAgent, insertAgent, logAgentChange } from '../registry/agents.ts'
import type { CheckModel, CheckTokens } from '../registry/checks.ts'
import { changeSettings } from '../registry/config.ts'
import {
  defaultSize,
  requireAgentQuota,
  requireAgentQuotaFor,
  requirePlanOfAgent,
  requireProvisioning,
  requireSize,
  requireSubscription,
} from '../registry/limits.ts'
import type { CreateAgentRequest, ProvisionRequest } from '../registry/schemas.ts'
import type { AgentRow } from '../registry/tables.ts'
import { recordRevision } from '../revisions/record.ts'

/**
 * Creates an agent of `owner` without starting it, under the same conditions as a provisioned agent.
 * @throws AppError `payment_required` without a subscription or for a size beyond the owner's plan, `limited` {current,
 * limit} at the cap, `unavailable` when provisioning is switched off, and as `CheckModel` and `CheckTokens`.
 */
export async function createAgent(
  deps: Base & { checkTokens: CheckTokens; checkModel: CheckModel; killSwitch: boolean },
  owner: SignedInUser,
  { name, config }: CreateAgentRequest,
): Promise<AgentRow> {
  requireProvisioning(deps)
  if (!owner.isAdmin) requireSubscription(deps.db, owner)
  const principal = { kind: 'user', user: owner } as const
  const settings = { ...config, plan: config?.plan ?? owner.plan }
  await checkSettings(deps, principal, config)
  const agent = await write(deps.db, (tx) => {
    if (!owner.isAdmin) requireAgentQuota(tx, owner, undefined)
    return insertPending(deps, tx, { ownerId: owner.id, name, settings })
  })
  logAgentChange(deps.log, principal, agent.id, 'created')
  return agent
}

/**
 * Creates an agent for the principal of the internal key; without a user it belongs to the operator. Only the number of
 * agents is limited here, not the right to start one.
 * @throws AppError `limited` {current, limit} at the cap of the user's plan, `payment_required` for a size beyond it,
 * and as `CheckModel` and `CheckTokens`.
 */
export async function createAgentFor(
  deps: Base & { checkTokens: CheckTokens; checkModel: CheckModel },
  principal: Principal,
  { name, config }: CreateAgentRequest,
): Promise<AgentRow> {
  const settings = { ...config, plan: config?.plan ?? 'free' }
  const ownerId = ownerOf(principal)
  await checkSettings(deps, principal, config)
  const agent = await write(deps.db, (tx) => {
    requireAgentQuotaFor(tx, principal)
    return insertPending(deps, tx, { ownerId, name, settings })
  })
  logAgentChange(deps.log, principal, agent.id, 'created')
  return agent
}

type Settings = NonNullable<CreateAgentRequest['config']>

async function checkSettings(
  deps: { checkTokens: CheckTokens; checkModel: CheckModel },
  principal: Principal,
  settings: Settings = {},
): Promise<void> {
  requirePlanOfAgent(principal, settings.plan)
  deps.checkModel(settings.model, { ownerId: ownerOf(principal), hasOwnKey: Boolean(settings.apiKey) })
  await deps.checkTokens(settings, null)
}

function insertPending(
  deps: { clock: Clock; sealer: Sealer },
  tx: Tx,
  { ownerId, name, settings }: { ownerId: string | null; name: string; settings: Settings & { plan: string } },
): AgentRow {
  const { plan, model = 'default', aiProvider = 'openrouter' } = settings
  const agent = insertAgent(deps, tx, { ownerId, name, model, plan, aiProvider, status: 'pending' })
  return changeSettings(deps, tx, agent, settings)
}

function ownerOf(principal: Principal): string | null {
  return principal.kind === 'user' ? principal.user.id : null
}

/** Finds the default model of a plan for a user, who may have provider keys of their own. */
type ModelChoice = { findDefault(plan: Plan, userId: string | null): { id: string } | null }
export type ProvisionDeps = Base & {
  catalogue: ModelChoice
  killSwitch: boolean
  /** The provider that serves agents unless their request names another. */
  aggregator: string
  checkTokens: CheckTokens
  checkModel: CheckModel
}

/** Names of the premium model, which its vendor serves; the configured provider serves all others. */
const PREMIUM_NAMES: readonly string[] = ['claude-opus-4-6', PREMIUM_MODEL]
const PREMIUM_PROVIDER = 'anthropic'

/**
 * Creates an agent for `owner` and waits up to 15 s for it to run. Administrators skip subscription and cap.
 * @returns the agent: `running`, `provisioning` when it takes longer, or `error`: a failed deployment is an outcome.
 * @throws AppError `payment_required` without a subscription or for a size beyond the owner's plan, `limited` {current,
 * limit} at the cap, `unavailable` when provisioning is switched off, and as `CheckModel` and `CheckTokens`.
 */
export async function provisionAgent(
  deps: ProvisionDeps,
  owner: SignedInUser,
  request: ProvisionRequest,
  once: Once,
): Promise<AgentRow> {
  const agent = await createForOwner(deps, owner, request, once)
  return waitUntilDeployed(deps, owner, agent)
}

/** Creates an agent like `provisionAgent` without waiting; the caller follows the deployment. */
export async function provisionAgentInBackground(
  deps: ProvisionDeps,
  owner: SignedInUser,
  request: ProvisionRequest,
  once: Once,
): Promise<AgentRow> {
  const agent = await createForOwner(deps, owner, request, once)
  waitUntilDeployed(deps, owner, agent).catch((error) =>
    deps.log.error({ agent: agent.id, error: errorMessage(error) }, 'provisioning failed'),
  )
  return agent
}

async function createForOwner(
  deps: ProvisionDeps,
  owner: SignedInUser,
  request: ProvisionRequest,
  { made, note }: Once,
): Promise<AgentRow> {
  if (made) return getAgent(deps.db, { kind: 'user', user: owner }, made)
  requireProvisioning(deps)
  if (!owner.isAdmin) requireSubscription(deps.db, owner)
  const principal = { kind: 'user', user: owner } as const
  // Only the tier decides the plan of this deployment, not the plan within `config`.
  const { plan: _plan, model: wantedModel, aiProvider = deps.aggregator, ...settings } = request.config ?? {}
  const named = request.model ?? wantedModel
  deps.checkModel(named, { ownerId: owner.id, hasOwnKey: Boolean(settings.apiKey) })
  const model = named ?? defaultModel(deps, owner)
  await deps.checkTokens(settings, null)
  return write(deps.db, (tx) => {
    if (!owner.isAdmin) requireAgentQuota(tx, owner, request.tier)
    requireSize(principal, request.tier)
    const agent = insertAgent(deps, tx, {
      ownerId: owner.id,
      name: request.name,
      model,
      plan: request.tier ?? defaultSize(principal),
      aiProvider: toProvider(model, aiProvider),
      status: 'provisioning',
    })
    note(tx, agent.id)
    requestOperation(deps, tx, agent.id, { kind: 'deploy', requestedBy: owner.id })
    const created = changeSettings(deps, tx, agent, settings)
    recordRevision(deps, tx, agent.id, { author: owner.id })
    return created
  })
}

/** Returns the provider of `model`: the vendor for the premium model, `configured` for all others. */
export function toProvider(model: string, configured: string): string {
  return PREMIUM_NAMES.includes(model) ? PREMIUM_PROVIDER : configured
}

/** Returns the default model of the owner's plan, for an agent whose owner names none. */
function defaultModel({ db, catalogue }: { db: Db; catalogue: ModelChoice }, owner: SignedInUser): string {
  const plan = owner.isAdmin ? PLANS.network : (findPlan(db, owner.plan) ?? PLANS.solo)
  return catalogue.findDefault(plan, owner.id)?.id ?? 'default'
}

/**
 * Waits up to 14 s for the agent's deployment and requests one if none is pending.
 * @returns the agent afterwards; a failed deployment is an outcome, recorded on the agent.
 */
export async function waitUntilDeployed(deps: Base, owner: SignedInUser, agent: AgentRow): Promise<AgentRow> {
  if (agent.status !== 'provisioning') return agent
  const principal = { kind: 'user', user: owner } as const
  const wanted = { kind: 'deploy', requestedBy: owner.id } as const
  const id = await write(deps.db, (tx) => joinOrRequest(deps, tx, agent.id, wanted))
  return waitForOutcome(deps, principal, agent.id, id)
}

import { AppError } from '../../../../core/errors.ts'
import { NO_PLAN, type Plan, planRequired } from '../../../accounts/plans/plans.ts'
import type { OwnKeys } from '../../own-keys/own-keys.ts'
import type { Spender } from '../../usage/quota.ts'
import {
  type Catalogue,
  type CatalogueModel,
  isAllowed,
  isEchoModel,
  isListedForKey,
  requireAllowed,
  requireIncluded,
} from '../catalogue/catalogue.ts'
import { findTier, PROVIDER_MODELS, TIERS } from './tiers.ts'

/** Every attempt may take 30 s. */
const MAX_TARGETS = 4
const LONG_CONTEXT_TOKENS = 200_000

/** What a caller says about who should answer: a model, models to take after it, or the kind of task. */
export type Wish = {
  model?: string | undefined
  fallbacks?: readonly string[] | undefined
  taskType?: string | undefined
}
type Allowance = Pick<Spender, 'plan' | 'key' | 'budget'>
/** `aiProvider` is asked first with the platform's keys; null: nobody chose one. */
type Asker = Allowance & Pick<Spender, 'userId'> & { aiProvider: string | null }
export type RouteDeps = { catalogue: Catalogue; aggregator: string; ownKeys: Pick<OwnKeys, 'list'> }

/**
 * The models to ask, in order. A named model is strict: only others that offer the same model come after it, and the
 * `fallbacks` that were named with it. Without a name the kind of task decides, then the plan. What a user's own key
 * serves needs no plan, and no provider of the platform.
 * @throws AppError `not_found` for a named model that nobody has, `forbidden` MODEL_RESTRICTED for one outside the plan or
 * the key, `payment_required` PLAN_REQUIRED, `unavailable` NOT_CONFIGURED without any provider.
 */
export function chooseTargets(deps: RouteDeps, wish: Wish, spender: Asker): CatalogueModel[] {
  const { model, fallbacks = [], taskType } = wish
  const tier = model !== undefined && Object.hasOwn(TIERS, model) ? model : undefined
  const isNamed = model !== undefined && tier === undefined && !isPlaceholder(model)
  const first = isNamed ? named(deps, model, spender) : unnamed(deps, tier ?? taskType, spender)
  const targets = [...first, ...fallbacks.flatMap((name) => named(deps, name, spender))]
  if (targets.length === 0) throw new AppError('not_found', 'No models available')
  return unique(targets).slice(0, MAX_TARGETS)
}

/** The models that suit a kind of task, best first; none when plan and key allow none that is there. */
export function listForTask(
  deps: RouteDeps,
  taskType: string | undefined,
  spender: Omit<Asker, 'userId'>,
): CatalogueModel[] {
  const tier = findTier(taskType)
  const suited = tier ? TIERS[tier].models.flatMap((id) => viaAggregator(deps, id, spender.aiProvider)) : []
  const long = taskType === 'long' ? listLong(deps.catalogue) : []
  return unique([...suited, ...long, ...listGeneral(deps, spender)])
    .filter((model) => isAllowed(model, spender))
    .slice(0, MAX_TARGETS - 1)
}

/** Interface 4.5: tier requests go through the aggregator; without one, whoever has the model serves it. */
function viaAggregator(deps: RouteDeps, id: string, aiProvider: string | null): readonly CatalogueModel[] {
  const offers = offersInOrder(deps, id, aiProvider)
  const chosen = offers.filter(({ provider }) => provider.id === deps.aggregator || provider.id === aiProvider)
  return chosen.length > 0 ? chosen : offers
}

/** The plan's default at the chosen provider, that provider's own default, the plan's choice, then the aggregator's default. */
function listGeneral(deps: RouteDeps, { plan, aiProvider }: Omit<Asker, 'userId'>): CatalogueModel[] {
  const { catalogue, aggregator } = deps
  const isChosen = aiProvider !== null && aiProvider !== aggregator
  const ofChosen = isChosen ? defaultsOf(deps, aiProvider).filter(({ provider }) => provider.id === aiProvider) : []
  const ofPlan = [catalogue.findDefault(plan)?.id ?? [], plan.models ?? []].flat()
  const defaultAtChosen = isChosen
    ? ofPlan.slice(0, 1).flatMap((id) => catalogue.offers(id).filter(({ provider }) => provider.id === aiProvider))
    : []
  return [
    ...defaultAtChosen,
    ...ofChosen,
    ...ofPlan.flatMap((id) => offersInOrder(deps, id, aiProvider)),
    ...defaultsOf(deps, aggregator),
  ]
}

function defaultsOf({ catalogue }: RouteDeps, providerId: string): CatalogueModel[] {
  return (PROVIDER_MODELS[providerId] ?? []).flatMap((id) => catalogue.offers(id))
}

/** Everyone who serves a model, the chosen provider first. */
function offersInOrder({ catalogue }: RouteDeps, name: string, aiProvider: string | null): readonly CatalogueModel[] {
  const offers = catalogue.offers(name)
  if (aiProvider === null || offers.length < 2) return offers
  const isChosen = ({ provider }: CatalogueModel) => provider.id === aiProvider
  return [...offers.filter(isChosen), ...offers.filter((model) => !isChosen(model))]
}

/** Cheapest first of those that read whole books. */
function listLong(catalogue: Catalogue): CatalogueModel[] {
  const price = (model: CatalogueModel) => model.price?.inputUsdPerMillion ?? Number.POSITIVE_INFINITY
  return catalogue
    .list()
    .filter(({ contextLength }) => (contextLength ?? 0) >= LONG_CONTEXT_TOKENS)
    .sort((one, other) => price(one) - price(other))
}

/** What a user can choose from: all that is offered here, and what their own keys serve beside it. */
export function listForUser({ catalogue, ownKeys }: RouteDeps, userId: string): CatalogueModel[] {
  const offered = catalogue.list()
  const known = new Set(offered.map(({ id }) => id))
  const own = ownKeys.list(userId).flatMap((provider) => catalogue.listOf(provider, userId))
  return [...offered, ...own.filter(({ id }) => !known.has(id) && known.add(id))]
}

/** Lists the models that the caller may name: those of the plan and the key, and those of the caller's own provider keys. */
export function listForCaller(deps: RouteDeps, caller: Allowance & Pick<Spender, 'userId'>): CatalogueModel[] {
  return listForUser(deps, caller.userId).filter((model) =>
    model.paidBy === null ? isAllowed(model, caller) : isListedForKey(model, caller),
  )
}

/** Returns the model that `name` means to the caller, or null when there is none that the caller may ask. */
export function findForCaller(
  deps: RouteDeps,
  name: string,
  caller: Allowance & Pick<Spender, 'userId'>,
): CatalogueModel | null {
  const own = findOwn(deps, name, caller)
  return own ?? deps.catalogue.offers(name).find((model) => isAllowed(model, caller)) ?? null
}

/** The model that a user's own keys are asked for when nobody names one; null for one without such a key. */
function findOwnDefault(deps: RouteDeps, userId: string): CatalogueModel | null {
  const ids = deps.ownKeys.list(userId).flatMap(({ id }) => PROVIDER_MODELS[id] ?? [])
  return ids.flatMap((id) => findOwn(deps, id, { userId, key: null }) ?? [])[0] ?? null
}

/** Returns the model of new agents: the plan's default, or what the user's own keys serve where that is only the offline model. */
export function findDefaultFor(deps: RouteDeps, plan: Plan, userId: string | null): CatalogueModel | null {
  const ofPlan = deps.catalogue.findDefault(plan)
  if (userId === null || (ofPlan && !isEchoModel(ofPlan))) return ofPlan
  return findOwnDefault(deps, userId) ?? ofPlan
}

/** A user's own key at a provider comes in place of everybody else: whoever pays for a model has chosen who serves it. */
function findOwn(deps: RouteDeps, name: string, spender: Pick<Asker, 'userId' | 'key'>): CatalogueModel | null {
  const offers = deps.ownKeys
    .list(spender.userId)
    .map((provider) => deps.catalogue.offerOf(provider, name, spender.userId))
  return offers.find((model) => model !== null && isListedForKey(model, spender)) ?? null
}

/** What a user's own keys serve of a kind of task, or else what their providers are asked for by default. */
function listOwnForTask(deps: RouteDeps, taskType: string | undefined, spender: Asker): CatalogueModel[] {
  const tier = findTier(taskType)
  const providers = deps.ownKeys.list(spender.userId)
  const ids = [...(tier ? TIERS[tier].models : []), ...providers.flatMap(({ id }) => PROVIDER_MODELS[id] ?? [])]
  return ids.flatMap((id) => findOwn(deps, id, spender) ?? []).slice(0, MAX_TARGETS - 1)
}

function unnamed(deps: RouteDeps, taskType: string | undefined, spender: Asker): CatalogueModel[] {
  if (spender.plan === NO_PLAN || deps.catalogue.list().every(isEchoModel)) {
    const own = listOwnForTask(deps, taskType, spender)
    if (own.length > 0) return own
    if (spender.plan === NO_PLAN) throw planRequired()
  }
  deps.catalogue.requireConfigured()
  return listForTask(deps, taskType, spender).map((chosen) => findOwn(deps, chosen.id, spender) ?? chosen)
}

function named(deps: RouteDeps, name: string, spender: Asker): readonly CatalogueModel[] {
  const own = findOwn(deps, name, spender)
  if (own) return [own]
  if (spender.plan === NO_PLAN) throw planRequired()
  const offers = offersInOrder(deps, name, spender.aiProvider)
  const [first] = offers
  if (!first) {
    requireIncluded(name, spender)
    deps.catalogue.requireConfigured()
    throw new AppError('not_found', `Model ${name} is not available`)
  }
  const allowed = offers.filter((model) => isAllowed(model, spender))
  if (allowed.length === 0) requireAllowed(first, spender)
  return allowed
}

/** What agents made before a model was chosen ask for. */
export function isPlaceholder(model: string): boolean {
  return model === 'default' || model === 'custom' || model === ''
}

function unique(models: CatalogueModel[]): CatalogueModel[] {
  return [...new Set(models)]
}

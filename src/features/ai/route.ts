import { AppError } from '../../core/errors.ts'
import type { OwnKeys } from '../own-keys/own-keys.ts'
import type { Plan } from '../plans/plans.ts'
import type { Spender } from '../usage/quota.ts'
import { type Catalogue, type CatalogueModel, isAllowed, isListedForKey, requireAllowed } from './catalogue.ts'
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
type Allowance = Pick<Spender, 'plan' | 'key'>
type Asker = Allowance & Pick<Spender, 'userId'>
export type RouteDeps = { catalogue: Catalogue; aggregator: string; ownKeys: Pick<OwnKeys, 'list'> }

/**
 * The models to ask, in order. A named model is strict: only others that offer the same model come after it, and the
 * `fallbacks` that were named with it. Without a name the kind of task decides, then the plan.
 * @throws AppError `not_found` for a named model that nobody has, `forbidden` MODEL_RESTRICTED for one outside the plan or the key,
 * `unavailable` NOT_CONFIGURED without any provider.
 */
export function chooseTargets(deps: RouteDeps, wish: Wish, spender: Asker): CatalogueModel[] {
  const { model, fallbacks = [], taskType } = wish
  const tier = model !== undefined && Object.hasOwn(TIERS, model) ? model : undefined
  const isNamed = model !== undefined && tier === undefined && !isPlaceholder(model)
  const first = isNamed
    ? named(deps, model, spender)
    : listForTask(deps, tier ?? taskType, spender).map((chosen) => findOwn(deps, chosen.id, spender) ?? chosen)
  const targets = [...first, ...fallbacks.flatMap((name) => named(deps, name, spender))]
  if (targets.length === 0) throw new AppError('not_found', 'No models available')
  return unique(targets).slice(0, MAX_TARGETS)
}

/** The models that suit a kind of task, best first; none when plan and key allow none that is there. */
export function listForTask(deps: RouteDeps, taskType: string | undefined, spender: Allowance): CatalogueModel[] {
  deps.catalogue.requireConfigured()
  const tier = findTier(taskType)
  const suited = tier ? TIERS[tier].models.flatMap((id) => viaAggregator(deps, id)) : []
  const long = taskType === 'long' ? listLong(deps.catalogue) : []
  return unique([...suited, ...long, ...listGeneral(deps, spender.plan)])
    .filter((model) => isAllowed(model, spender))
    .slice(0, MAX_TARGETS - 1)
}

/** Spec 4.5: tier requests go through the aggregator; without one, whoever has the model serves it. */
function viaAggregator({ catalogue, aggregator }: RouteDeps, id: string): readonly CatalogueModel[] {
  const offers = catalogue.offers(id)
  const ofAggregator = offers.filter(({ provider }) => provider.id === aggregator)
  return ofAggregator.length > 0 ? ofAggregator : offers
}

/** The plan's own choice, then what the configured providers are asked for by default. */
function listGeneral({ catalogue, aggregator }: RouteDeps, plan: Plan): CatalogueModel[] {
  const ids = [...(plan.models ?? []), ...(PROVIDER_MODELS[aggregator] ?? [])]
  const chosen = catalogue.findDefault(plan)
  return [...(chosen ? catalogue.offers(chosen.id) : []), ...ids.flatMap((id) => catalogue.offers(id))]
}

/** Cheapest first of those that read whole books. */
function listLong(catalogue: Catalogue): CatalogueModel[] {
  const price = (model: CatalogueModel) => model.price?.inputUsdPerMillion ?? Number.POSITIVE_INFINITY
  return catalogue
    .list()
    .filter(({ contextLength }) => (contextLength ?? 0) >= LONG_CONTEXT_TOKENS)
    .sort((one, other) => price(one) - price(other))
}

/** A user's own key at a provider comes in place of everybody else: whoever pays for a model has chosen who serves it. */
function findOwn(deps: RouteDeps, name: string, spender: Asker): CatalogueModel | null {
  const offers = deps.ownKeys
    .list(spender.userId)
    .map((provider) => deps.catalogue.offerOf(provider, name, spender.userId))
  return offers.find((model) => model !== null && isListedForKey(model, spender)) ?? null
}

function named(deps: RouteDeps, name: string, spender: Asker): readonly CatalogueModel[] {
  const own = findOwn(deps, name, spender)
  if (own) return [own]
  deps.catalogue.requireConfigured()
  const offers = deps.catalogue.offers(name)
  const [first] = offers
  if (!first) throw new AppError('not_found', `Model ${name} is not available`)
  requireAllowed(first, spender)
  return offers
}

/** What agents made before a model was chosen ask for. */
function isPlaceholder(model: string): boolean {
  return model === 'default' || model === 'custom' || model === ''
}

function unique(models: CatalogueModel[]): CatalogueModel[] {
  return [...new Set(models)]
}

import QuickLRU from 'quick-lru'
import { ProviderError } from '../../../adapters/models/provider.ts'
import { AppError } from '../../../core/errors.ts'
import { NO_PLAN, type Plan, planRequired } from '../../accounts/plans/plans.ts'
import { type CallFigures, createCallHealth } from '../catalogue/call-health.ts'
import {
  type Catalogue,
  type CatalogueModel,
  isAllowed,
  isEchoModel,
  isListedForKey,
  requireAllowed,
  requireIncluded,
} from '../catalogue/catalogue.ts'
import { findTier, PROVIDER_MODELS, TIERS } from '../catalogue/known-models.ts'
import type { OwnKeys } from '../own-keys/own-keys.ts'
import type { Spender } from '../usage/quota.ts'

/** Every attempt may take 30 s. */
const MAX_TARGETS = 4
const LONG_CONTEXT_TOKENS = 200_000

/** The requested model, its fallbacks, or the kind of task. */
export type ModelRequest = {
  model?: string | undefined
  fallbacks?: readonly string[] | undefined
  taskType?: string | undefined
}
type Allowance = Pick<Spender, 'plan' | 'key' | 'budget'>
/** `aiProvider` is the preferred provider with the platform's keys, or null. */
type Asker = Allowance & Pick<Spender, 'userId'> & { aiProvider: string | null }
export type RouteDeps = { catalogue: Catalogue; aggregator: string; ownKeys: Pick<OwnKeys, 'list'> }

/**
 * Lists the models to try, in order. A named model is followed only by other offers of it and by its `fallbacks`. Without a
 * name the kind of task decides, then the plan. A user's own provider key needs no plan.
 * @throws AppError `not_found` for an unknown model, `forbidden` MODEL_RESTRICTED outside plan or key, `payment_required`
 * PLAN_REQUIRED, `unavailable` NOT_CONFIGURED without any provider.
 */
export function chooseTargets(deps: RouteDeps, requested: ModelRequest, spender: Asker): CatalogueModel[] {
  const { model, fallbacks = [], taskType } = requested
  const tier = model !== undefined && Object.hasOwn(TIERS, model) ? model : undefined
  const isNamed = model !== undefined && tier === undefined && !isPlaceholder(model)
  const first = isNamed ? named(deps, model, spender) : unnamed(deps, tier ?? taskType, spender)
  const targets = [...first, ...fallbacks.flatMap((name) => named(deps, name, spender))]
  if (targets.length === 0) throw new AppError('not_found', 'No models available')
  return unique(targets).slice(0, MAX_TARGETS)
}

/** Lists the allowed models for a kind of task, best first. */
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

/** Sends tier requests through the aggregator; without one, through any provider of the model. */
function viaAggregator(deps: RouteDeps, id: string, aiProvider: string | null): readonly CatalogueModel[] {
  const offers = offersInOrder(deps, id, aiProvider)
  const chosen = offers.filter(({ provider }) => provider.id === deps.aggregator || provider.id === aiProvider)
  return chosen.length > 0 ? chosen : offers
}

/** Order: the plan's default at the chosen provider, that provider's default, the plan's models, the aggregator's default. */
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

/** Lists the offers of a model, the chosen provider first. */
function offersInOrder({ catalogue }: RouteDeps, name: string, aiProvider: string | null): readonly CatalogueModel[] {
  const offers = catalogue.offers(name)
  if (aiProvider === null || offers.length < 2) return offers
  const isChosen = ({ provider }: CatalogueModel) => provider.id === aiProvider
  return [...offers.filter(isChosen), ...offers.filter((model) => !isChosen(model))]
}

/** Lists models with a long context, cheapest first. */
function listLong(catalogue: Catalogue): CatalogueModel[] {
  const price = (model: CatalogueModel) => model.price?.inputUsdPerMillion ?? Number.POSITIVE_INFINITY
  return catalogue
    .list()
    .filter(({ contextLength }) => (contextLength ?? 0) >= LONG_CONTEXT_TOKENS)
    .sort((one, other) => price(one) - price(other))
}

/** Lists the models of the platform and those of the user's own provider keys. */
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

/** Finds the default model of the user's own provider keys. */
function findOwnDefault(deps: RouteDeps, userId: string): CatalogueModel | null {
  const ids = deps.ownKeys.list(userId).flatMap(({ id }) => PROVIDER_MODELS[id] ?? [])
  return ids.flatMap((id) => findOwn(deps, id, { userId, key: null }) ?? [])[0] ?? null
}

/** Returns the model of new agents: the plan's default, or that of the user's own keys when the plan has only the offline model. */
export function findDefaultFor(deps: RouteDeps, plan: Plan, userId: string | null): CatalogueModel | null {
  const ofPlan = deps.catalogue.findDefault(plan)
  if (userId === null || (ofPlan && !isEchoModel(ofPlan))) return ofPlan
  return findOwnDefault(deps, userId) ?? ofPlan
}

/** A user's own provider key takes precedence over every offer of the platform. */
function findOwn(deps: RouteDeps, name: string, spender: Pick<Asker, 'userId' | 'key'>): CatalogueModel | null {
  const offers = deps.ownKeys
    .list(spender.userId)
    .map((provider) => deps.catalogue.offerOf(provider, name, spender.userId))
  return offers.find((model) => model !== null && isListedForKey(model, spender)) ?? null
}

/** Lists the models of the user's own keys for a kind of task, else their providers' defaults. */
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

/** Placeholders of agents that were created without a model. */
export function isPlaceholder(model: string): boolean {
  return model === 'default' || model === 'custom' || model === ''
}

function unique(models: CatalogueModel[]): CatalogueModel[] {
  return [...new Set(models)]
}

/** The result of the target that answered, and the number of attempts. */
export type Attempted<T> = { target: CatalogueModel; attempts: number; value: T }

/**
 * Tries one target after another until one answers. Resting targets come last, closed ones are skipped.
 * @throws ProviderError of the last target, or at once when the request itself is invalid; the reason of an abort.
 */
export async function tryInTurn<T>(
  cooldowns: Cooldowns,
  targets: readonly CatalogueModel[],
  ask: (target: CatalogueModel) => Promise<T>,
): Promise<Attempted<T>> {
  let attempts = 0
  let failure: unknown
  for (const target of inOrder(cooldowns, targets)) {
    attempts += 1
    const startedAt = performance.now()
    try {
      const value = await ask(target)
      cooldowns.noteSuccess(target, performance.now() - startedAt)
      return { target, attempts, value }
    } catch (error) {
      if (!(error instanceof ProviderError) || error.failure === 'caller') throw error
      cooldowns.noteFailure(target, error)
      failure = error
    }
  }
  throw failure ?? allClosed(cooldowns, targets)
}

function inOrder(cooldowns: Cooldowns, targets: readonly CatalogueModel[]): CatalogueModel[] {
  const ready: CatalogueModel[] = []
  const resting: CatalogueModel[] = []
  for (const target of targets) {
    const { state } = cooldowns.standing(target)
    if (state === 'ready') ready.push(target)
    else if (state === 'resting') resting.push(target)
  }
  return resting.length === 0 ? ready : [...ready, ...resting]
}

function allClosed(cooldowns: Cooldowns, targets: readonly CatalogueModel[]): ProviderError {
  const retryAfterMs = Math.min(...targets.map((target) => cooldowns.standing(target).waitMs))
  return new ProviderError('limited', `AI provider ${targets[0]?.provider.id ?? ''} is busy`, { retryAfterMs })
}

/** Consecutive failures after which a target cools down. */
const FAILURES_UNTIL_REST = 3
const REST_MS = 30_000
/** Rejected credentials rarely recover within seconds. */
const CREDENTIALS_REST_MS = 60_000
/** While one call probes a target after its cooldown, other calls still avoid it. */
const TRIAL_MS = 5_000
const MAX_REST_MS = 10 * 60_000

/** State of a target: `ready`, `resting` after failures (a last resort), or `closed` for the `waitMs` it demanded. */
type Standing = { state: 'ready' | 'resting' | 'closed'; waitMs: number }

/** Tracks failing models and providers in memory. */
export type Cooldowns = {
  standing(target: CatalogueModel): Standing
  /** Returns whether the target is ready, without starting a probe. */
  isAvailable(target: CatalogueModel): boolean
  noteSuccess(target: CatalogueModel, latencyMs: number): void
  noteFailure(target: CatalogueModel, error: ProviderError): void
  /** Returns the figures of a model's recent calls, null without one. */
  healthOf(target: CatalogueModel): (CallFigures & { state: Standing['state'] }) | null
}

type Rest = { failures: number; until: number; isClosed: boolean }

/** Bounds the map: users with a key of their own choose the names of models. */
const MAX_RESTS = 10_000

/** `nowMs` must be monotonic, such as `performance.now`. */
export function createCooldowns(deps: { nowMs: () => number }): Cooldowns {
  const rests = new QuickLRU<string, Rest>({ maxSize: MAX_RESTS })
  const health = createCallHealth(deps)

  const rest = (key: string, ms: number, failures: number, isClosed: boolean) =>
    rests.set(key, { failures, until: deps.nowMs() + Math.min(ms, MAX_REST_MS), isClosed })

  const standingOf = (key: string): Standing => {
    const known = rests.get(key)
    if (!known || known.until === 0) return { state: 'ready', waitMs: 0 }
    const waitMs = known.until - deps.nowMs()
    if (waitMs > 0) return { state: known.isClosed ? 'closed' : 'resting', waitMs }
    if (known.isClosed) known.until = 0
    else known.until = deps.nowMs() + TRIAL_MS
    return { state: 'ready', waitMs: 0 }
  }

  /** Returns the state without starting a probe. */
  const stateOf = (target: CatalogueModel): Standing['state'] => {
    const waiting = [providerKeyOf(target), keyOf(target)]
      .map((key) => rests.get(key))
      .find((known) => known !== undefined && known.until > deps.nowMs())
    if (!waiting) return 'ready'
    return waiting.isClosed ? 'closed' : 'resting'
  }

  return {
    standing(target) {
      const ofProvider = standingOf(providerKeyOf(target))
      return ofProvider.state === 'ready' ? standingOf(keyOf(target)) : ofProvider
    },
    isAvailable: (target) => stateOf(target) === 'ready',
    noteSuccess(target, latencyMs) {
      health.note(keyOf(target), latencyMs, false)
      rests.delete(providerKeyOf(target))
      rests.delete(keyOf(target))
    },
    noteFailure(target, error) {
      const key = keyOf(target)
      health.note(key, 0, true)
      const failures = (rests.get(key)?.failures ?? 0) + 1
      if (error.failure === 'credentials') rest(providerKeyOf(target), CREDENTIALS_REST_MS, failures, false)
      else if (error.failure === 'limited' && error.retryAfterMs !== null) rest(key, error.retryAfterMs, failures, true)
      else if (failures >= FAILURES_UNTIL_REST) rest(key, REST_MS, failures, false)
      else rests.set(key, { failures, until: 0, isClosed: false })
    },
    healthOf(target) {
      const figures = health.figuresOf(keyOf(target))
      return figures && { ...figures, state: stateOf(target) }
    },
  }
}

/** Failures of a user's own key affect only that user. */
function providerKeyOf({ provider, paidBy }: CatalogueModel): string {
  return paidBy === null ? provider.id : `${provider.id} of ${paidBy}`
}

function keyOf(target: CatalogueModel): string {
  return `${providerKeyOf(target)} ${target.upstreamId}`
}

import { ECHO_PROVIDER } from '../../../adapters/models/echo.ts'
import type { AiProvider, ListedProviderModel } from '../../../adapters/models/provider.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { TokenPrice } from '../../../core/money.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { type Plan, PREMIUM_MODEL } from '../../accounts/plans/plans.ts'
import type { Spender } from '../usage/quota.ts'
import {
  BUILT_IN_MODELS,
  findBuiltIn,
  findDatedName,
  findSpelled,
  indexNames,
  PROVIDER_MODELS,
  toAnthropicName,
  toIds,
} from './known-models.ts'

/** The limits that decide which models a caller may use. */
type Allowance = Pick<Spender, 'plan' | 'key' | 'budget'>

/** A model and how to ask for it. `upstreamId` is its name at the provider; `price` is null when it is not known. */
export type CatalogueModel = {
  id: string
  name: string
  provider: AiProvider
  upstreamId: string
  contextLength: number | null
  description: string | null
  tags: readonly string[]
  price: TokenPrice | null
  /** An administrator set the price: it overrides the cost that the provider reports. */
  isPriceSet: boolean
  /** The user whose provider key is charged; null when the platform pays. */
  paidBy: string | null
}

export type Catalogue = {
  /** Lists each model once, with its first provider. */
  list(): CatalogueModel[]
  /** Lists the offers of the model that `name` means; a vendor's own API comes before the aggregator. */
  offers(name: string): readonly CatalogueModel[]
  /** Returns the price at the first provider of the model, else the published price, else null. */
  findPrice(name: string): TokenPrice | null
  /** Returns the offer of a provider that a user has a key for, or null. */
  offerOf(provider: AiProvider, name: string, userId: string): CatalogueModel | null
  /** Lists the models of a provider that a user has a key for. */
  listOf(provider: AiProvider, userId: string): CatalogueModel[]
  /** Returns whether a provider that has not listed its models yet may serve one of this name. */
  mayOffer(provider: AiProvider, name: string): boolean
  /** @throws AppError `unavailable` NOT_CONFIGURED without any provider. */
  requireConfigured(): void
  /** Returns the default model of a plan, or null without any provider. */
  findDefault(plan: Plan): CatalogueModel | null
  /** Rebuilds the offers after a change of providers or prices. */
  rebuild(): void
  /** Fetches the model lists of all providers. A provider that fails keeps its previous list. */
  refresh(signal: AbortSignal): Promise<void>
}

/** The prefix of the models that a vendor's own API serves. The aggregator serves all of them. */
const VENDOR_PREFIXES: Readonly<Record<string, string>> = {
  openai: 'openai/',
  anthropic: 'anthropic/',
  gemini: 'google/',
}
/** Models that run on this machine, allowed on every plan. */
const LOCAL_PROVIDERS = new Set([ECHO_PROVIDER, 'ollama'])
const FREE: TokenPrice = { inputUsdPerMillion: 0, outputUsdPerMillion: 0 }

type BuildDeps = {
  providers: AiProvider[]
  aggregator: string
  /** The price that an administrator set for a model id. */
  findSetPrice: (model: string) => TokenPrice | null
}

/** Creates the catalogue of models that can be requested: published models of the configured providers, and their own lists. */
export function createCatalogue(deps: BuildDeps & { log: Log }): Catalogue {
  const listed = new Map<string, ListedProviderModel[]>()
  let offers = build(deps, listed)
  let names = indexNames(offers.keys())
  const rebuild = () => {
    offers = build(deps, listed)
    names = indexNames(offers.keys())
  }
  const list = () => [...offers.values()].flatMap((offered) => toListed(offered) ?? [])

  const listOf = (provider: AiProvider, userId: string) =>
    modelsOf(deps, provider, listed.get(provider.id)).map((model) => ({ ...model, paidBy: userId }))
  const offersOf = (name: string) =>
    offers.get(name) ?? (offers.get(findSpelled(names, name) ?? '') ?? []).map((model) => toSnapshot(model, name))

  /** Rules: `web/docs/models.md`, "Choose a model". */
  const findDefault = (plan: Plan) => {
    const isOnPlan = (model: CatalogueModel) => isAllowed(model, { plan, key: null })
    const ofPlan = [PREMIUM_MODEL, ...(plan.models ?? [])].filter((name) => isIn(plan.models, name)).flatMap(toIds)
    const ofProviders = deps.providers.flatMap(({ id }) => PROVIDER_MODELS[id] ?? [])
    const preferred = [...ofPlan, ...ofProviders].flatMap((id) => offersOf(id)).find(isOnPlan)
    const others = list().filter((model) => isOnPlan(model) && !isEchoModel(model) && !/embed/i.test(model.id))
    const ollama = others.find(({ provider }) => provider.id === 'ollama')
    return preferred ?? ollama ?? others[0] ?? list().find(isEchoModel) ?? null
  }

  return {
    list,
    findDefault,
    offers: offersOf,
    findPrice: (name) => offersOf(name)[0]?.price ?? deps.findSetPrice(name) ?? findBuiltIn(name)?.price ?? null,
    listOf,
    offerOf(provider, name, userId) {
      const known = listOf(provider, userId)
      for (const id of toIds(name)) {
        const model = known.find((offered) => offered.id === id)
        if (model) return toSnapshot(model, name)
      }
      // A provider without a model list may serve any name that has its prefix.
      const prefix = `${provider.id}/`
      if (!name.startsWith(prefix)) return null
      const asked = { ...NOTHING_KNOWN, id: name.slice(prefix.length), price: null }
      return { ...toModel(deps, provider, name, asked), paidBy: userId }
    },
    mayOffer(provider, name) {
      if (listed.has(provider.id) || VENDOR_PREFIXES[provider.id]) return false
      return provider.id === deps.aggregator || name.startsWith(`${provider.id}/`)
    },
    requireConfigured() {
      if (deps.providers.length > 0) return
      throw new AppError('unavailable', 'No AI provider is configured. Set OPENROUTER_API_KEY.', {
        code: 'NOT_CONFIGURED',
      })
    },
    rebuild,
    async refresh(signal) {
      await Promise.all(
        deps.providers.map(async (provider) => {
          try {
            listed.set(provider.id, await provider.listModels(signal))
            rebuild()
          } catch (error) {
            deps.log.warn({ provider: provider.id, error: errorMessage(error) }, 'AI provider does not list its models')
          }
        }),
      )
    },
  }
}

/** @throws AppError `forbidden` MODEL_RESTRICTED when plan or key exclude the model, or a money budget meets an unknown price. */
export function requireAllowed(model: CatalogueModel, spender: Allowance): void {
  const { plan, key, budget } = spender
  if (isAllowed(model, spender)) return
  if (!isListedForKey(model, { key })) {
    throw restricted(`Model ${model.id} is not among the models of this key.`, key?.models ?? plan.models)
  }
  if (
    model.price === null &&
    hasMoneyBudget({ plan, key, budget }) &&
    (isLocal(model) || isIn(plan.models, model.id))
  ) {
    const holder = isKeyOfMoney(key) ? 'key' : budget?.isOfMoney ? 'agent' : 'plan'
    const reason = `has no known price, and this ${holder} has a budget: an administrator can set the price`
    throw restricted(`Model ${model.id} ${reason}.`, key?.models ?? plan.models)
  }
  throw restricted(`Model ${model.id} not available on your plan. Upgrade for more models.`, plan.models)
}

/** Checks a model that no provider offers. @throws AppError `forbidden` MODEL_RESTRICTED when plan or key exclude it. */
export function requireIncluded(name: string, { plan, key }: Allowance): void {
  if (!findBuiltIn(name)) return
  if (!isIn(plan.models, name))
    throw restricted(`Model ${name} not available on your plan. Upgrade for more models.`, plan.models)
  if (!isIn(key?.models ?? null, name))
    throw restricted(`Model ${name} is not among the models of this key.`, key?.models ?? null)
}

function restricted(message: string, allowedModels: readonly string[] | null): AppError {
  return new AppError('forbidden', message, { code: 'MODEL_RESTRICTED', allowedModels: allowedModels ?? [] })
}

/** Returns the first offer with the description of a later one: a vendor's own API seldom describes its models. */
function toListed([first, ...others]: readonly CatalogueModel[]): CatalogueModel | null {
  const described = others.find(({ description }) => description !== null)
  if (!first || first.description !== null || !described) return first ?? null
  const { name, description, tags } = described
  return { ...first, name, contextLength: described.contextLength ?? first.contextLength, description, tags }
}

/** Local models are on every plan. A model without a price is excluded wherever a money budget has to be counted. */
export function isAllowed(model: CatalogueModel, { plan, key, budget }: Allowance): boolean {
  if (!isListedForKey(model, { key })) return false
  if (model.price === null && hasMoneyBudget({ plan, key, budget })) return false
  return isLocal(model) || isIn(plan.models, model.id)
}

/** Returns whether a limit of the caller is an amount of money. */
export function hasMoneyBudget({
  plan,
  key,
  budget,
}: Omit<Allowance, 'budget'> & { budget?: Allowance['budget'] | undefined }): boolean {
  return plan.costMicroUsdPerMonth !== null || isKeyOfMoney(key) || budget?.isOfMoney === true
}

function isKeyOfMoney(key: Allowance['key'] | undefined): boolean {
  return key?.budgetMicroUsd != null || key?.endUserBudgetMicroUsd != null
}

/** Returns whether the key allows the model; a key without a list allows all. */
export function isListedForKey(model: CatalogueModel, { key }: Pick<Allowance, 'key'>): boolean {
  return isIn(key?.models ?? null, model.id)
}

/** Returns whether the model is the offline one for development, which repeats its input. */
export function isEchoModel({ provider }: CatalogueModel): boolean {
  return provider.id === ECHO_PROVIDER
}

function isLocal(model: CatalogueModel): boolean {
  return LOCAL_PROVIDERS.has(model.provider.id)
}

const idsOfLists = new WeakMap<readonly string[], ReadonlySet<string>>()

/** Returns whether a list of names includes a model; null includes all. Cached by list: lists of plans and keys never change. */
function isIn(names: readonly string[] | null, id: string): boolean {
  if (names === null) return true
  const known = idsOfLists.get(names) ?? new Set(names.flatMap(toIds))
  idsOfLists.set(names, known)
  return known.has(id)
}

/** Groups the models of all providers by id, a vendor's own API before the aggregator. */
function build(deps: BuildDeps, listed: Map<string, ListedProviderModel[]>) {
  const offers = new Map<string, CatalogueModel[]>()
  const vendorsFirst = deps.providers.toSorted((one) => (one.id === deps.aggregator ? 1 : -1))
  for (const provider of vendorsFirst) {
    for (const model of modelsOf(deps, provider, listed.get(provider.id))) {
      const known = offers.get(model.id)
      if (known) known.push(model)
      else offers.set(model.id, [model])
    }
  }
  return offers
}

function modelsOf(deps: BuildDeps, provider: AiProvider, own: ListedProviderModel[] | undefined): CatalogueModel[] {
  const isAggregator = provider.id === deps.aggregator && !VENDOR_PREFIXES[provider.id]
  if (isAggregator)
    return (own ?? builtIn(''))
      .filter((model) => !/:(free|batch)$/.test(model.id))
      .map((model) => toModel(deps, provider, model.id, model))
  const prefix = VENDOR_PREFIXES[provider.id]
  if (prefix) {
    const published = builtIn(prefix).map((model) =>
      toModel(deps, provider, model.id, { ...model, id: toVendorId(provider.id, model.id.slice(prefix.length)) }),
    )
    const newer = (own ?? []).filter(({ id }) => isNewer(provider.id, id))
    return [...published, ...newer.map((model) => toModel(deps, provider, `${prefix}${model.id}`, model))]
  }
  return (own ?? []).map((model) =>
    toModel(deps, provider, model.id.startsWith(`${provider.id}/`) ? model.id : `${provider.id}/${model.id}`, model),
  )
}

function toModel(deps: BuildDeps, provider: AiProvider, id: string, model: ListedProviderModel): CatalogueModel {
  // Published prices apply to the vendors and the aggregator only: a custom server may charge anything.
  const isPublished = provider.id === deps.aggregator || VENDOR_PREFIXES[provider.id] !== undefined
  const published = isPublished ? findBuiltIn(id) : null
  const free = provider.id === ECHO_PROVIDER ? FREE : null
  const set = deps.findSetPrice(id)
  return {
    id,
    name: model.name ?? id,
    provider,
    upstreamId: model.id,
    contextLength: model.contextLength ?? published?.contextLength ?? null,
    description: model.description,
    tags: model.tags,
    price: set ?? free ?? model.price ?? published?.price ?? null,
    isPriceSet: set !== null,
    paidBy: null,
  }
}

const NOTHING_KNOWN = { name: null, contextLength: null, description: null, tags: [] } as const

function builtIn(prefix: string): ListedProviderModel[] {
  return [...BUILT_IN_MODELS.entries()]
    .filter(([id]) => id.startsWith(prefix) && !/:/.test(id.slice(prefix.length)))
    .map(([id, known]) => ({ ...NOTHING_KNOWN, ...known, id }))
}

/** Names of a vendor's chat models. Its list has others as well, such as models for speech and images. */
const CHAT_NAMES: Readonly<Record<string, RegExp>> = {
  openai: /^(?:gpt-\d|o\d|codex)(?!.*(?:audio|image|instruct|realtime|search|transcribe|tts))/,
  anthropic: /^claude-/,
}

/** Returns whether a vendor lists a chat model that was published after the built-in table. */
function isNewer(provider: string, id: string): boolean {
  return CHAT_NAMES[provider]?.test(id) === true && findBuiltIn(id) === null
}

function toVendorId(provider: string, id: string): string {
  return provider === 'anthropic' ? toAnthropicName(id) : id
}

/** Vendors whose names of versions callers may use; the vendor then gets that name. */
const VERSIONED_VENDORS = new Set(['openai', 'anthropic'])

function toSnapshot(model: CatalogueModel, name: string): CatalogueModel {
  const isVersioned = VERSIONED_VENDORS.has(model.provider.id) && model.id !== name
  const snapshot = isVersioned ? findDatedName(name) : null
  return snapshot === null ? model : { ...model, upstreamId: snapshot }
}

const HOUR_MS = 3_600_000

/** Refreshes models and prices every hour. */
export function catalogueJob(deps: { catalogue: Catalogue }): RepeatingJob {
  return { name: 'ai.catalogue', everyMs: HOUR_MS, run: (signal) => deps.catalogue.refresh(signal) }
}

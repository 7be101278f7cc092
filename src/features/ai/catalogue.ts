import type { AiProvider, ListedProviderModel } from '../../adapters/ai-provider.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { TokenPrice } from '../../core/money.ts'
import type { Plan } from '../plans/plans.ts'
import type { Spender } from '../usage/quota.ts'
import { BUILT_IN_PRICES } from './prices.ts'

/** Whose models are allowed. */
type Allowance = Pick<Spender, 'plan' | 'key'>

/** A model and how to ask for it. `upstreamId` is its name at the provider; `price` is null when nobody knows it. */
export type CatalogueModel = {
  id: string
  name: string
  provider: AiProvider
  upstreamId: string
  contextLength: number | null
  description: string | null
  tags: readonly string[]
  price: TokenPrice | null
  /** Whose own key pays for it; null for the platform's. */
  paidBy: string | null
}

export type Catalogue = {
  /** Each model once, from whoever is asked first for it. */
  list(): CatalogueModel[]
  /** Everyone who serves the model that `name` means, a vendor's own API before the aggregator; none when nobody does. */
  offers(name: string): readonly CatalogueModel[]
  /** The same at a provider that a user brings along; null when it does not serve that model. */
  offerOf(provider: AiProvider, name: string, userId: string): CatalogueModel | null
  /** @throws AppError `unavailable` NOT_CONFIGURED without any provider. */
  requireConfigured(): void
  /** The model new agents get, or null without any provider. */
  findDefault(plan: Plan): CatalogueModel | null
  /** Asks the providers for their lists, each used once it is there; one that does not answer keeps the list it had. */
  refresh(signal: AbortSignal): Promise<void>
}

export const PREMIUM_MODEL = 'anthropic/claude-opus-4.6'

/** Other names under which clients know a model. */
const ALIASES: Readonly<Record<string, string>> = {
  'claude-opus-4-6': PREMIUM_MODEL,
  'gpt-4': 'openai/gpt-4',
  'google/gemini-2.0-flash': 'google/gemini-2.0-flash-001',
}

/** Whose models a vendor's own API serves. The aggregator serves everyone's. */
const VENDOR_PREFIXES: Readonly<Record<string, string>> = {
  openai: 'openai/',
  anthropic: 'anthropic/',
  gemini: 'google/',
}
/** Models that run on this machine: free, and allowed on every plan. */
const LOCAL_PROVIDERS = new Set(['local', 'ollama'])

/** What can be asked for now: the built-in price list over the configured providers, refreshed with their own lists. */
export function createCatalogue(deps: { providers: AiProvider[]; aggregator: string; log: Log }): Catalogue {
  const listed = new Map<string, ListedProviderModel[]>()
  let offers = build(deps, listed)
  const first = (id: string) => offers.get(id)?.[0]
  const list = () => [...offers.values()].flatMap((offered) => toListed(offered) ?? [])

  const findDefault = (plan: Plan) => {
    const wanted = plan.models === null ? [PREMIUM_MODEL] : plan.models.map(toCanonicalId)
    for (const id of wanted) {
      const model = first(id)
      if (model) return model
    }
    const local = list().filter(isLocal)
    const ollama = local.find((model) => model.provider.id === 'ollama')
    return ollama ?? local[0] ?? list().find((model) => isAllowed(model, { plan, key: null })) ?? null
  }

  return {
    list,
    findDefault,
    offers: (name) => offers.get(toCanonicalId(name)) ?? [],
    offerOf(provider, name, userId) {
      const id = toCanonicalId(name)
      const model = modelsOf(provider, deps.aggregator, undefined).find((known) => known.id === id)
      if (model) return { ...model, paidBy: userId }
      // A provider whose models nobody lists is asked for what its name stands before.
      const prefix = `${provider.id}/`
      if (!id.startsWith(prefix)) return null
      const listed = { ...NOTHING_KNOWN, id: id.slice(prefix.length), price: null }
      return { ...toModel(provider, id, listed), paidBy: userId }
    },
    requireConfigured() {
      if (deps.providers.length > 0) return
      throw new AppError('unavailable', 'No AI provider is configured. Set OPENROUTER_API_KEY.', {
        code: 'NOT_CONFIGURED',
      })
    },
    async refresh(signal) {
      await Promise.all(
        deps.providers.map(async (provider) => {
          try {
            listed.set(provider.id, await provider.listModels(signal))
            offers = build(deps, listed)
          } catch (error) {
            deps.log.warn({ provider: provider.id, error: errorMessage(error) }, 'AI provider does not list its models')
          }
        }),
      )
    },
  }
}

/**
 * @throws AppError `forbidden` MODEL_RESTRICTED when plan or key do not include the model, or nobody knows the price of
 * one that a limit has to count.
 */
export function requireAllowed(model: CatalogueModel, spender: Allowance): void {
  const { plan, key } = spender
  if (isAllowed(model, spender)) return
  if (isAllowed(model, { plan, key: null })) {
    const isListed = key?.models?.map(toCanonicalId).includes(model.id) ?? true
    const reason = isListed ? 'has no known price, and this key has a budget' : 'is not among the models of this key'
    throw new AppError('forbidden', `Model ${model.id} ${reason}.`, {
      code: 'MODEL_RESTRICTED',
      allowedModels: key?.models ?? plan.models ?? [],
    })
  }
  const reason = plan.models?.map(toCanonicalId).includes(model.id)
    ? 'has no known price'
    : 'not available on your plan'
  throw new AppError('forbidden', `Model ${model.id} ${reason}. Upgrade for more models.`, {
    code: 'MODEL_RESTRICTED',
    allowedModels: plan.models ?? [],
  })
}

/** The first offer, with what the others tell of the model: a vendor's own API seldom describes what it has. */
function toListed([first, ...others]: readonly CatalogueModel[]): CatalogueModel | null {
  const described = others.find(({ contextLength }) => contextLength !== null)
  if (!first || first.contextLength !== null || !described) return first ?? null
  const { name, contextLength, description, tags } = described
  return { ...first, name, contextLength, description, tags }
}

/** Models on this machine are free, and on every plan; a key's own list counts for them as well. */
export function isAllowed(model: CatalogueModel, { plan, key }: Allowance): boolean {
  if (!isListedForKey(model, { key })) return false
  if (isLocal(model)) return true
  if (model.price === null && (plan.models !== null || key?.budgetMicroUsd != null)) return false
  return plan.models === null || toCanonicalIds(plan.models).has(model.id)
}

/** Does the key's own list of models have it, or has the key none? */
export function isListedForKey(model: CatalogueModel, { key }: Pick<Allowance, 'key'>): boolean {
  return !key?.models || toCanonicalIds(key.models).has(model.id)
}

function isLocal(model: CatalogueModel): boolean {
  return LOCAL_PROVIDERS.has(model.provider.id)
}

const canonicalIds = new WeakMap<readonly string[], ReadonlySet<string>>()

/** Lists belong to plans and keys and never change: each is looked through once. */
function toCanonicalIds(names: readonly string[]): ReadonlySet<string> {
  const known = canonicalIds.get(names)
  if (known) return known
  const ids = new Set(names.map(toCanonicalId))
  canonicalIds.set(names, ids)
  return ids
}

function toCanonicalId(name: string): string {
  return ALIASES[name] ?? name
}

/** A vendor's own API comes before the aggregator; a provider's own list before the built-in one. */
function build(deps: { providers: AiProvider[]; aggregator: string }, listed: Map<string, ListedProviderModel[]>) {
  const offers = new Map<string, CatalogueModel[]>()
  const vendorsFirst = deps.providers.toSorted((one) => (one.id === deps.aggregator ? 1 : -1))
  for (const provider of vendorsFirst) {
    for (const model of modelsOf(provider, deps.aggregator, listed.get(provider.id))) {
      const known = offers.get(model.id)
      if (known) known.push(model)
      else offers.set(model.id, [model])
    }
  }
  return offers
}

function modelsOf(provider: AiProvider, aggregator: string, own: ListedProviderModel[] | undefined): CatalogueModel[] {
  const isAggregator = provider.id === aggregator && !VENDOR_PREFIXES[provider.id]
  if (isAggregator)
    return (own ?? builtIn(''))
      .filter((model) => !/:(free|batch)$/.test(model.id))
      .map((model) => toModel(provider, model.id, model))
  const prefix = VENDOR_PREFIXES[provider.id]
  if (prefix)
    return builtIn(prefix).map((model) =>
      toModel(provider, model.id, { ...model, id: toVendorId(provider.id, model.id.slice(prefix.length)) }),
    )
  return (own ?? []).map((model) =>
    toModel(provider, model.id.startsWith(`${provider.id}/`) ? model.id : `${provider.id}/${model.id}`, model),
  )
}

function toModel(provider: AiProvider, id: string, model: ListedProviderModel): CatalogueModel {
  const free = LOCAL_PROVIDERS.has(provider.id) ? { inputUsdPerMillion: 0, outputUsdPerMillion: 0 } : null
  return {
    id,
    name: model.name ?? id,
    provider,
    upstreamId: model.id,
    contextLength: model.contextLength,
    description: model.description,
    tags: model.tags,
    price: free ?? model.price ?? BUILT_IN_PRICES.get(id) ?? null,
    paidBy: null,
  }
}

const NOTHING_KNOWN = { name: null, contextLength: null, description: null, tags: [] } as const

function builtIn(prefix: string): ListedProviderModel[] {
  return [...BUILT_IN_PRICES.entries()]
    .filter(([id]) => id.startsWith(prefix) && !/:/.test(id.slice(prefix.length)))
    .map(([id, price]) => ({ ...NOTHING_KNOWN, id, price }))
}

/** The aggregator writes versions with dots where Anthropic's own names have dashes. */
function toVendorId(provider: string, id: string): string {
  return provider === 'anthropic' ? id.replaceAll('.', '-') : id
}

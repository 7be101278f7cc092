import type { AiProvider, ListedProviderModel } from '../../adapters/ai-provider.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { TokenPrice } from '../../core/money.ts'
import type { Plan } from '../plans/plans.ts'
import { BUILT_IN_PRICES } from './prices.ts'

/** A model and how to ask for it. `upstreamId` is its name at the provider; `price` is null when nobody knows it. */
export type CatalogueModel = {
  id: string
  name: string
  provider: AiProvider
  upstreamId: string
  contextLength: number | null
  price: TokenPrice | null
}

export type Catalogue = {
  list(): CatalogueModel[]
  /**
   * Finds the model that `name` means for `plan`; `default` and nothing mean the plan's own choice.
   * @throws AppError `unavailable` NOT_CONFIGURED without any provider, `not_found` for a model that none has.
   */
  resolve(name: string | undefined, plan: Plan): CatalogueModel
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
  let models = build(deps, listed)

  const findDefault = (plan: Plan) => {
    const wanted = plan.models === null ? [PREMIUM_MODEL] : plan.models.map(toCanonicalId)
    for (const id of wanted) {
      const model = models.get(id)
      if (model) return model
    }
    const local = [...models.values()].filter(isLocal)
    return local.find((model) => model.provider.id === 'ollama') ?? local[0] ?? firstAllowed(models, plan)
  }

  return {
    list: () => [...models.values()],
    findDefault,
    resolve(name, plan) {
      if (deps.providers.length === 0) {
        throw new AppError('unavailable', 'No AI provider is configured. Set OPENROUTER_API_KEY.', {
          code: 'NOT_CONFIGURED',
        })
      }
      const model = isUnnamed(name) ? findDefault(plan) : models.get(toCanonicalId(name))
      if (!model) throw new AppError('not_found', `Model ${name ?? 'default'} is not available`)
      return model
    },
    async refresh(signal) {
      await Promise.all(
        deps.providers.map(async (provider) => {
          try {
            listed.set(provider.id, await provider.listModels(signal))
            models = build(deps, listed)
          } catch (error) {
            deps.log.warn({ provider: provider.id, error: errorMessage(error) }, 'AI provider does not list its models')
          }
        }),
      )
    },
  }
}

/** @throws AppError `forbidden` MODEL_RESTRICTED when the plan does not include the model, or nobody knows its price. */
export function requireAllowed(model: CatalogueModel, plan: Plan): void {
  if (isAllowed(model, plan)) return
  const reason = plan.models?.map(toCanonicalId).includes(model.id)
    ? 'has no known price'
    : 'not available on your plan'
  throw new AppError('forbidden', `Model ${model.id} ${reason}. Upgrade for more models.`, {
    code: 'MODEL_RESTRICTED',
    allowedModels: plan.models ?? [],
  })
}

export function isAllowed(model: CatalogueModel, plan: Plan): boolean {
  if (isLocal(model) || plan.models === null) return true
  return model.price !== null && plan.models.map(toCanonicalId).includes(model.id)
}

function isLocal(model: CatalogueModel): boolean {
  return LOCAL_PROVIDERS.has(model.provider.id)
}

function firstAllowed(models: Map<string, CatalogueModel>, plan: Plan): CatalogueModel | null {
  return [...models.values()].find((model) => isAllowed(model, plan)) ?? null
}

function isUnnamed(name: string | undefined): name is undefined {
  return name === undefined || name === 'default' || name === 'custom'
}

function toCanonicalId(name: string): string {
  return ALIASES[name] ?? name
}

/** A vendor's own API comes before the aggregator; a provider's own list before the built-in one. */
function build(deps: { providers: AiProvider[]; aggregator: string }, listed: Map<string, ListedProviderModel[]>) {
  const models = new Map<string, CatalogueModel>()
  const vendorsFirst = deps.providers.toSorted((one) => (one.id === deps.aggregator ? 1 : -1))
  for (const provider of vendorsFirst) {
    for (const model of modelsOf(provider, deps.aggregator, listed.get(provider.id))) {
      if (!models.has(model.id)) models.set(model.id, model)
    }
  }
  return models
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
    price: free ?? model.price ?? BUILT_IN_PRICES.get(id) ?? null,
  }
}

function builtIn(prefix: string): ListedProviderModel[] {
  return [...BUILT_IN_PRICES.entries()]
    .filter(([id]) => id.startsWith(prefix) && !/:/.test(id.slice(prefix.length)))
    .map(([id, price]) => ({ id, name: null, contextLength: null, price }))
}

/** The aggregator writes versions with dots where Anthropic's own names have dashes. */
function toVendorId(provider: string, id: string): string {
  return provider === 'anthropic' ? id.replaceAll('.', '-') : id
}

import { type Context, Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { endpoint, type Responses } from '../../../http/endpoint.ts'
import type { BaseEnv } from '../../../http/env.ts'
import { HEALTH_WINDOW_MINUTES } from '../catalogue/call-health.ts'
import type { Catalogue, CatalogueModel } from '../catalogue/catalogue.ts'
import type { Cooldowns } from './routing.ts'
import {
  AiHealth,
  type AiModel,
  AiModelList,
  type ModelHealth,
  type ProviderHealth,
  ProviderModelList,
} from './schemas.ts'

export type ModelListDeps = {
  /** Lists the models that the caller can choose from. */
  listModels: (c: Context) => CatalogueModel[] | Promise<CatalogueModel[]>
  catalogue: Pick<Catalogue, 'list' | 'offers'>
  cooldowns: Cooldowns
  clock: Clock
  log: Log
  probeProviders: () => Promise<ProviderHealth>
}

const healthAnswers: Responses = { responses: { 200: AiHealth } }
const modelsAnswers: Responses = { responses: { 200: AiModelList } }
const providerModelsAnswers: Responses = { responses: { 200: ProviderModelList } }

/** Public routes of both APIs: the available models and the health of their providers. */
export function modelListRoutes(deps: ModelListDeps) {
  const app = new Hono<BaseEnv>()
  const timestamp = () => deps.clock.now().toISOString()
  const show = (model: CatalogueModel) => toAiModel(model, deps.cooldowns.isAvailable(model))

  app.get(
    '/api/ai/health',
    endpoint({ summary: 'Returns the health of providers', tag: 'Models', ...healthAnswers }),
    async (c) => {
      try {
        return c.json({ ...(await deps.probeProviders()), ...listModelHealth(deps), timestamp: timestamp() })
      } catch (error) {
        deps.log.error({ error: errorMessage(error) }, 'cannot probe the AI providers')
        return c.json({ status: 'error', error: 'AI providers cannot be probed' }, 503)
      }
    },
  )

  app.get(
    '/api/ai/models',
    endpoint({ summary: 'Lists all models with their prices', tag: 'Models', ...modelsAnswers }),
    async (c) => {
      const models = await deps.listModels(c)
      const counts = Object.fromEntries(
        [...Map.groupBy(models, (model) => model.provider.id)].map(([id, group]) => [id, group.length]),
      )
      return c.json({ ...counts, models: models.map(show), count: models.length, timestamp: timestamp() })
    },
  )

  app.get(
    '/api/ai/models/:provider',
    endpoint({ summary: 'Lists the models of a provider', tag: 'Models', ...providerModelsAnswers }),
    async (c) => {
      const provider = c.req.param('provider')
      const models = (await deps.listModels(c)).filter((model) => model.provider.id === provider)
      return c.json({ provider, models: models.map(show), count: models.length, timestamp: timestamp() })
    },
  )

  return app
}

/** Lists the platform's models with recent calls, those with the most errors first. */
function listModelHealth({ catalogue, cooldowns }: ModelListDeps): Pick<AiHealth, 'windowMinutes' | 'models'> {
  const offers = catalogue.list().flatMap(({ id }) => catalogue.offers(id))
  const models = [...new Set(offers)].flatMap((model): ModelHealth[] => {
    const figures = cooldowns.healthOf(model)
    return figures ? [{ provider: model.provider.id, model: model.id, ...figures }] : []
  })
  if (models.length === 0) return {}
  models.sort((one, other) => other.errorRate - one.errorRate || other.calls - one.calls)
  return { windowMinutes: HEALTH_WINDOW_MINUTES, models }
}

const LONG_CONTEXT_TOKENS = 200_000

/** A model as the API lists it. Costs are US dollars per million tokens; unknown facts are null. */
function toAiModel(model: CatalogueModel, isAvailable: boolean): AiModel {
  const provider = model.provider.id
  return {
    id: model.id,
    name: model.name,
    provider,
    description: model.description ?? `${model.name} through ${provider}`,
    tags: toTags(model),
    inputCost: model.price?.inputUsdPerMillion ?? null,
    outputCost: model.price?.outputUsdPerMillion ?? null,
    contextWindow: model.contextLength,
    available: isAvailable,
  }
}

function toTags({ provider, tags, contextLength }: CatalogueModel): string[] {
  const isLocal = provider.id === 'local' || provider.id === 'ollama'
  const isLong = (contextLength ?? 0) >= LONG_CONTEXT_TOKENS
  return [isLocal ? 'local' : 'cloud', ...tags, ...(isLong ? ['long-context'] : [])]
}

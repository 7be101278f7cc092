import { Hono } from 'hono'
import type { Clock } from '../../core/clock.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { limitRate } from '../../http/rate-limit.ts'
import { validate } from '../../http/validate.ts'
import { type CallerEnv, type CallerFinder, requirePlannedCaller } from './callers.ts'
import type { CatalogueModel } from './catalogue.ts'
import { type CompleteDeps, complete } from './complete.ts'
import type { ProviderHealth } from './health.ts'
import { ChatRequest } from './schemas.ts'

export type AiBackendDeps = CompleteDeps & {
  clock: Clock
  log: Log
  callers: CallerFinder
  probeProviders: () => Promise<ProviderHealth>
  requestsPerMinute: { ai: number }
}

/** The unified AI endpoints (Spec 4.5). */
export function aiBackend(deps: AiBackendDeps) {
  const app = new Hono<CallerEnv>()
  const timestamp = () => deps.clock.now().toISOString()

  app.use('/api/ai/*', limitRate(deps.requestsPerMinute.ai, 'AI rate limit exceeded.'))

  app.get('/api/ai/health', async (c) => {
    try {
      return c.json({ ...(await deps.probeProviders()), timestamp: timestamp() })
    } catch (error) {
      deps.log.error({ error: errorMessage(error) }, 'cannot probe the AI providers')
      return c.json({ status: 'error', error: 'AI providers cannot be probed' }, 503)
    }
  })

  app.get('/api/ai/models', (c) => {
    const models = deps.catalogue.list()
    const counts = Object.fromEntries(
      [...Map.groupBy(models, (model) => model.provider.id)].map(([id, group]) => [id, group.length]),
    )
    return c.json({ ...counts, models: models.map(toAiModel), count: models.length, timestamp: timestamp() })
  })

  app.get('/api/ai/models/:provider', (c) => {
    const provider = c.req.param('provider')
    const models = deps.catalogue.list().filter((model) => model.provider.id === provider)
    return c.json({ provider, models: models.map(toAiModel), count: models.length, timestamp: timestamp() })
  })

  app.post('/api/ai/chat', requirePlannedCaller(deps.callers), validate('json', ChatRequest), async (c) => {
    const body = c.req.valid('json')
    const { id, model, content, usage } = await complete(deps, {
      caller: c.var.caller,
      body,
      json: JSON.stringify(body),
      endpoint: '/api/ai/chat',
      signal: c.req.raw.signal,
    })
    return c.json({
      id,
      model: model.id,
      provider: model.provider.id,
      message: { role: 'assistant', content },
      usage: {
        prompt_tokens: usage.inputTokens,
        completion_tokens: usage.outputTokens,
        total_tokens: usage.inputTokens + usage.outputTokens,
      },
      timestamp: timestamp(),
    })
  })

  return app
}

/** Spec 2, AI model. Costs are US dollars per million tokens. */
function toAiModel(model: CatalogueModel) {
  const provider = model.provider.id
  return {
    id: model.id,
    name: model.name,
    provider,
    description:
      provider === 'local'
        ? 'Offline development model: repeats what it is told.'
        : `${model.name} through ${provider}`,
    tags: provider === 'local' || provider === 'ollama' ? ['local'] : ['cloud'],
    inputCost: model.price?.inputUsdPerMillion ?? null,
    outputCost: model.price?.outputUsdPerMillion ?? null,
    contextWindow: model.contextLength,
    available: true,
  }
}

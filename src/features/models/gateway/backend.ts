import { type Context, Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { tokenCost, toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { answers } from '../../../http/answers.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import { NO_PLAN, PLANS } from '../../people/plans/plans.ts'
import type { UsageRecorder } from '../usage/recording/record.ts'
import type { RunningSums } from '../usage/running-sums.ts'
import { streamChunks, tellCompleted, toUsage } from './answers.ts'
import {
  type CallerEnv,
  type CallerFinder,
  DIRECT,
  identifyCaller,
  limitCaller,
  requirePlannedCaller,
} from './callers.ts'
import type { Catalogue, CatalogueModel } from './catalogue/catalogue.ts'
import { type CompleteDeps, complete, completeStreaming } from './complete.ts'
import { getMyUsage } from './my-usage.ts'
import { listForTask } from './routing/route.ts'
import {
  AiHealth,
  type AiModel,
  AiModelList,
  AiReply,
  ChatRequest,
  CostEstimate,
  EstimateRequest,
  MyUsage,
  type ProviderHealth,
  ProviderModelList,
  SelectedModel,
  SelectRequest,
} from './schemas.ts'

export type AiBackendDeps = CompleteDeps & {
  db: Db
  clock: Clock
  userSums: RunningSums
  log: Log
  usage: Pick<UsageRecorder, 'flush'>
  callers: CallerFinder
  probeProviders: () => Promise<ProviderHealth>
  requestsPerMinute: { ai: number; backend: number }
}

const healthAnswers = answers({ 200: AiHealth })
const modelsAnswers = answers({ 200: AiModelList })
const providerModelsAnswers = answers({ 200: ProviderModelList })
const selectAnswers = answers({ 200: SelectedModel }, 'not_found')
const estimateAnswers = answers({ 200: CostEstimate }, 'payment_required', 'not_found')
const chatAnswers = answers(
  { 200: [AiReply, 'text/event-stream'] },
  'payment_required',
  'not_found',
  'limited',
  'upstream_failed',
  'upstream_timeout',
  'unavailable',
)
const usageAnswers = answers({ 200: MyUsage })

/** The unified AI endpoints (Interface 4.5). */
export function aiBackend(deps: AiBackendDeps) {
  const app = new Hono<CallerEnv>()
  const timestamp = () => deps.clock.now().toISOString()

  const planned = requirePlannedCaller(deps.callers)
  const onFullDisk = routeTraits({ worksOnFullDisk: true })

  app.use('/api/ai/*', limitRate(deps.requestsPerMinute.ai, 'AI rate limit exceeded.'))

  const show = (model: CatalogueModel) => toAiModel(model, deps.cooldowns.isAvailable(model))

  app.get('/api/ai/health', healthAnswers, async (c) => {
    try {
      return c.json({ ...(await deps.probeProviders()), timestamp: timestamp() })
    } catch (error) {
      deps.log.error({ error: errorMessage(error) }, 'cannot probe the AI providers')
      return c.json({ status: 'error', error: 'AI providers cannot be probed' }, 503)
    }
  })

  app.get('/api/ai/models', modelsAnswers, (c) => {
    const models = deps.catalogue.list()
    const counts = Object.fromEntries(
      [...Map.groupBy(models, (model) => model.provider.id)].map(([id, group]) => [id, group.length]),
    )
    return c.json({ ...counts, models: models.map(show), count: models.length, timestamp: timestamp() })
  })

  app.get('/api/ai/models/:provider', providerModelsAnswers, (c) => {
    const provider = c.req.param('provider')
    const models = deps.catalogue.list().filter((model) => model.provider.id === provider)
    return c.json({ provider, models: models.map(show), count: models.length, timestamp: timestamp() })
  })

  app.post(
    '/api/ai/models/select',
    selectAnswers,
    onFullDisk,
    identifyCaller(deps.callers),
    validateAnyBody(SelectRequest),
    (c) => {
      const { taskType = 'general' } = c.req.valid('json')
      const { caller } = c.var
      // Whoever has no plan is shown what the smallest one would be given.
      const plan = caller.plan === NO_PLAN ? PLANS.solo : caller.plan
      const [model] = listForTask(deps, taskType, { ...caller, plan })
      if (!model) throw new AppError('not_found', 'No models available')
      return c.json({ model: { id: model.id, provider: model.provider.id }, taskType, timestamp: timestamp() })
    },
  )

  app.post('/api/ai/estimate-cost', estimateAnswers, onFullDisk, planned, validate('json', EstimateRequest), (c) => {
    const { model, inputTokens, outputTokens } = c.req.valid('json')
    const estimatedCost = toUsd(estimateCost(deps.catalogue, model, inputTokens, outputTokens))
    return c.json({ model, inputTokens, outputTokens, estimatedCost, currency: 'USD', timestamp: timestamp() })
  })

  app.route('/', chatAndUsageRoutes(deps))
  return app
}

/** What costs, and what it has cost. */
function chatAndUsageRoutes(deps: AiBackendDeps) {
  const app = new Hono<CallerEnv>()
  const timestamp = () => deps.clock.now().toISOString()
  const planned = requirePlannedCaller(deps.callers)
  const onFullDisk = routeTraits({ worksOnFullDisk: true })
  const limit = limitCaller(deps.requestsPerMinute.backend)

  app.post('/api/ai/chat', chatAnswers, onFullDisk, planned, limit, validate('json', ChatRequest), async (c) => {
    const asked = toCompletionRequest(c, c.req.valid('json'))
    if (asked.body.stream) return streamChunks(c, deps.log, await completeStreaming(deps, asked))
    const answer = await complete(deps, asked)
    const { id, model, content } = answer
    tellCompleted(c, answer)
    return c.json({
      id,
      model: model.id,
      provider: model.provider.id,
      message: { role: 'assistant', content },
      usage: toUsage(answer),
      timestamp: timestamp(),
    })
  })

  app.get('/api/me/usage', usageAnswers, identifyCaller(deps.callers), async (c) => {
    await deps.usage.flush()
    const { caller } = c.var
    return c.json(getMyUsage(deps, { ...caller, agentId: caller.agentId === DIRECT ? null : caller.agentId }))
  })

  return app
}

function toCompletionRequest(c: Context<CallerEnv>, { taskType, fallbacks, ...body }: ChatRequest) {
  return {
    caller: c.var.caller,
    wish: { model: body.model, fallbacks, taskType },
    body,
    json: JSON.stringify(body),
    endpoint: '/api/ai/chat',
    signal: c.req.raw.signal,
  }
}

/** @throws AppError `not_found` for a model that nobody has, or whose price nobody knows. */
function estimateCost(catalogue: Catalogue, name: string, inputTokens: number, outputTokens: number) {
  const price = catalogue.findPrice(name)
  if (!price) throw new AppError('not_found', `The price of model ${name} is not known`)
  return tokenCost({ inputTokens, outputTokens }, price)
}

const LONG_CONTEXT_TOKENS = 200_000

/** Interface 2, AI model. Costs are US dollars per million tokens; what nobody tells is null. */
function toAiModel(model: CatalogueModel, isAvailable: boolean): AiModel {
  const provider = model.provider.id
  const isLocal = provider === 'local' || provider === 'ollama'
  return {
    id: model.id,
    name: model.name,
    provider,
    description: model.description ?? `${model.name} through ${provider}`,
    tags: [
      isLocal ? 'local' : 'cloud',
      ...model.tags,
      ...((model.contextLength ?? 0) >= LONG_CONTEXT_TOKENS ? ['long-context'] : []),
    ],
    inputCost: model.price?.inputUsdPerMillion ?? null,
    outputCost: model.price?.outputUsdPerMillion ?? null,
    contextWindow: model.contextLength,
    available: isAvailable,
  }
}

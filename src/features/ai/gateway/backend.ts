import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { tokenCost, toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint, type Responses, type RouteOptions } from '../../../http/endpoint.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import { NO_PLAN, PLANS } from '../../accounts/plans/plans.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { RunningSums } from '../usage/quota.ts'
import type { UsageRecorder } from '../usage/recorder.ts'
import { DIRECT } from '../usage/tables.ts'
import { answerChat, chatAnswers } from './answers.ts'
import type { CachedDeps } from './cached-completions.ts'
import { type CallerEnv, type CallerFinder, identifyCaller, limitCaller, requirePlannedCaller } from './callers.ts'
import { type ModelListDeps, modelListRoutes } from './model-list-routes.ts'
import { getMyUsage } from './my-usage.ts'
import { listForTask } from './routing.ts'
import { ChatRequest, CostEstimate, EstimateRequest, MyUsage, SelectedModel, SelectRequest } from './schemas.ts'

export type AiBackendDeps = CachedDeps &
  Omit<ModelListDeps, 'listModels'> & {
    db: Db
    userSums: RunningSums
    usage: Pick<UsageRecorder, 'flush'>
    callers: CallerFinder
    requestsPerMinute: { ai: number; backend: number }
  }

const selectAnswers: Responses = { responses: { 200: SelectedModel }, errors: ['not_found'] }
const estimateAnswers: Responses = { responses: { 200: CostEstimate }, errors: ['payment_required', 'not_found'] }
const usageAnswers: Responses = { responses: { 200: MyUsage } }

/** AI routes of the backend API in the native format. */
export function aiBackend(deps: AiBackendDeps) {
  const app = new Hono<CallerEnv>()
  const timestamp = () => deps.clock.now().toISOString()

  const planned = requirePlannedCaller(deps.callers)
  const onFullDisk: RouteOptions = { worksOnFullDisk: true }

  app.use(
    '/api/ai/*',
    limitRate(() => deps.requestsPerMinute.ai, 'AI rate limit exceeded.'),
  )

  app.route('/', modelListRoutes({ ...deps, listModels: () => deps.catalogue.list() }))

  app.post(
    '/api/ai/models/select',
    endpoint({ summary: 'Selects a model for a task', tag: 'Models', ...selectAnswers, ...onFullDisk }),
    identifyCaller(deps.callers),
    validateAnyBody(SelectRequest),
    (c) => {
      const { taskType = 'general' } = c.req.valid('json')
      const { caller } = c.var
      // A caller without a plan sees the choice of the smallest one.
      const plan = caller.plan === NO_PLAN ? PLANS.solo : caller.plan
      const [model] = listForTask(deps, taskType, { ...caller, plan })
      if (!model) throw new AppError('not_found', 'No models available')
      return c.json({ model: { id: model.id, provider: model.provider.id }, taskType, timestamp: timestamp() })
    },
  )

  app.post(
    '/api/ai/estimate-cost',
    endpoint({ summary: 'Estimates the cost of a call', tag: 'Models', ...estimateAnswers, ...onFullDisk }),
    planned,
    validate('json', EstimateRequest),
    (c) => {
      const { model, inputTokens, outputTokens } = c.req.valid('json')
      const estimatedCost = toUsd(estimateCost(deps.catalogue, model, inputTokens, outputTokens))
      return c.json({ model, inputTokens, outputTokens, estimatedCost, currency: 'USD', timestamp: timestamp() })
    },
  )

  app.route('/', chatAndUsageRoutes(deps))
  return app
}

/** Chat, and the caller's own usage. */
function chatAndUsageRoutes(deps: AiBackendDeps) {
  const app = new Hono<CallerEnv>()
  const planned = requirePlannedCaller(deps.callers)
  const onFullDisk: RouteOptions = { worksOnFullDisk: true }
  const limit = limitCaller(() => deps.requestsPerMinute.backend)

  app.post(
    '/api/ai/chat',
    endpoint({ summary: 'Creates a completion in the native format', tag: 'Models', ...chatAnswers, ...onFullDisk }),
    planned,
    limit,
    validate('json', ChatRequest),
    (c) => answerChat(c, deps, c.var.caller, c.req.valid('json')),
  )

  app.get(
    '/api/me/usage',
    endpoint({ summary: "Returns the caller's usage this month", tag: 'Usage', ...usageAnswers }),
    identifyCaller(deps.callers),
    async (c) => {
      await deps.usage.flush()
      const { caller } = c.var
      return c.json(getMyUsage(deps, { ...caller, agentId: caller.agentId === DIRECT ? null : caller.agentId }))
    },
  )

  return app
}

/** @throws AppError `not_found` for a model without a known price. */
function estimateCost(catalogue: Catalogue, name: string, inputTokens: number, outputTokens: number) {
  const price = catalogue.findPrice(name)
  if (!price) throw new AppError('not_found', `The price of model ${name} is not known`)
  return tokenCost({ inputTokens, outputTokens }, price)
}

import { ProviderError } from '../../../adapters/models/provider.ts'
import { AppError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { toMicroUsd } from '../../../core/money.ts'
import { PLANS } from '../../accounts/plans/plans.ts'
import type { CatalogueModel } from '../catalogue/catalogue.ts'
import { type CompleteDeps, type Completed, complete } from '../gateway/completions.ts'
import type { Budget, RunningSums } from '../usage/quota.ts'
import type { DemoChatRequest } from './schemas.ts'

const DEMO_AGENT = 'demo-chat'
const DEMO_ENDPOINT = '/api/demo/chat'
const MAX_OUTPUT_TOKENS = 1024
const INSTRUCTIONS = 'You are a helpful assistant in a public demonstration. Answer briefly.'
/** The call continues when the visitor leaves, because the usage of an aborted call is only an estimate. */
const NEVER = new AbortController().signal

/** `demoModel` is the id in the demo's list, which may be an alias of the served model. */
type DemoAnswer = Completed & { demoModel: string }

export type DemoDeps = CompleteDeps & { log: Log; demoBudget: Budget }

/** Lists the models of the demo; one is available when a provider serves it at a known price. */
export function listDemoModels({ catalogue }: Pick<CompleteDeps, 'catalogue'>) {
  return DEMO_MODELS.map((model) => ({ ...model, available: findPriced(catalogue.offers(model.id)) !== null }))
}

/**
 * Answers a visitor of the demo within the daily budget.
 * @throws AppError `unavailable` when no model of the demo is available or the day's budget is spent, `invalid` for a
 * model outside the demo, `not_found` for one that is not available, `internal` when the model does not answer.
 */
export async function chatWithDemo(deps: DemoDeps, request: DemoChatRequest): Promise<DemoAnswer> {
  const { id, served: model } = findModel(deps, request.model)
  const said = [...request.conversation, request.message]
  const messages = [{ role: 'system', content: INSTRUCTIONS }, ...said.map((content) => ({ role: 'user', content }))]
  const body = { model: model.id, messages, max_tokens: MAX_OUTPUT_TOKENS, stream: false }
  const caller = {
    ...{ userId: DEMO_USER, agentId: DEMO_AGENT, plan: PLANS.network, key: null, aiProvider: null },
    budget: deps.demoBudget,
  }
  const json = JSON.stringify(body)
  const requested = { model: model.id }
  try {
    const answer = await complete(deps, { caller, requested, body, json, endpoint: DEMO_ENDPOINT, signal: NEVER })
    return { ...answer, demoModel: id }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    deps.log.error({ model: model.id, error: error.message }, 'the demo got no answer')
    throw new AppError('internal', 'Failed to get response', {}, { cause: error })
  }
}

type DemoModel = { id: string; served: CatalogueModel }

function findModel(deps: DemoDeps, requested: string | undefined): DemoModel {
  const available = listDemoModels(deps).filter((model) => model.available)
  const [first] = available
  if (!first) throw unavailable()
  const models = available.map(({ id }) => id)
  if (requested !== undefined && !DEMO_MODELS.some(({ id }) => id === requested)) {
    throw new AppError('invalid', 'Model is not part of the demo', { models })
  }
  const id = requested ?? first.id
  const served = findPriced(deps.catalogue.offers(id))
  if (!served) throw new AppError('not_found', `Model ${id} is not available at the moment`, { models })
  return { id, served }
}

function unavailable(): AppError {
  return new AppError('unavailable', 'Demo unavailable — service not configured.')
}

/** A model without a price cannot count against the daily budget. */
function findPriced(offers: readonly CatalogueModel[]): CatalogueModel | null {
  return offers.find(({ price }) => price !== null) ?? null
}

/** User id of the demo's usage records. */
const DEMO_USER = 'demo'

/** Limits the daily cost (UTC) of all demo visitors together. */
export function createDemoBudget(deps: { daySums: RunningSums; dailyBudgetUsd: number }): Budget {
  return {
    id: DEMO_USER,
    used: () => deps.daySums.used(DEMO_USER),
    maxTokens: Number.POSITIVE_INFINITY,
    isOfMoney: true,
    maxCostMicroUsd: toMicroUsd(deps.dailyBudgetUsd),
    exceeded: () =>
      new AppError('unavailable', 'The demo has used up its budget for today. Please come back tomorrow.'),
  }
}

/** The models of the public demo in order of preference; the first available one is the default. */
export const DEMO_MODELS = [
  { id: 'xiaomi/mimo-v2-pro', name: 'MiMo-V2-Pro', provider: 'Xiaomi' },
  { id: 'anthropic/claude-sonnet-4.5', name: 'Claude Sonnet 4.5', provider: 'Anthropic' },
  { id: 'openai/gpt-4o', name: 'GPT-4o', provider: 'OpenAI' },
  { id: 'google/gemini-2.5-flash', name: 'Gemini 2.5 Flash', provider: 'Google' },
  { id: 'deepseek/deepseek-r1', name: 'DeepSeek R1', provider: 'DeepSeek' },
  { id: 'minimax/minimax-chat', name: 'MiniMax M2.7', provider: 'MiniMax' },
] as const

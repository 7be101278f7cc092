import { ProviderError } from '../../../adapters/models/provider.ts'
import { AppError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { PLANS } from '../../people/plans/plans.ts'
import type { CatalogueModel } from '../gateway/catalogue/catalogue.ts'
import { type CompleteDeps, type Completed, complete } from '../gateway/complete.ts'
import type { Budget } from '../usage/quota.ts'
import { DEMO_USER } from './budget.ts'
import { DEMO_MODELS } from './models.ts'
import type { DemoChatRequest } from './schemas.ts'

const DEMO_AGENT = 'demo-chat'
const DEMO_ENDPOINT = '/api/demo/chat'
const MAX_OUTPUT_TOKENS = 1024
const INSTRUCTIONS = 'You are a helpful assistant in a public demonstration. Answer briefly.'
/** A visitor who leaves does not end the call: what it would have cost could only be guessed then. */
const NEVER = new AbortController().signal

export type DemoDeps = CompleteDeps & { log: Log; demoBudget: Budget }

/** The listed models that somebody serves here at a known price. */
export function listDemoModels({ catalogue }: Pick<CompleteDeps, 'catalogue'>) {
  return DEMO_MODELS.filter(({ id }) => priced(catalogue.offers(id)) !== null)
}

/**
 * Lets a stranger talk to one of the listed models (Interface 4.6), within the day's budget.
 * @throws AppError `unavailable` when nobody serves a listed model or the day's money is spent, `invalid` for a model that
 * is not listed, `internal` when the model does not answer.
 */
export async function chatWithDemo(deps: DemoDeps, request: DemoChatRequest): Promise<Completed> {
  const model = findModel(deps, request.model)
  const said = [...request.conversation, request.message]
  const messages = [{ role: 'system', content: INSTRUCTIONS }, ...said.map((content) => ({ role: 'user', content }))]
  const body = { model: model.id, messages, max_tokens: MAX_OUTPUT_TOKENS, stream: false }
  const caller = {
    ...{ userId: DEMO_USER, agentId: DEMO_AGENT, plan: PLANS.network, key: null, aiProvider: null },
    budget: deps.demoBudget,
  }
  const json = JSON.stringify(body)
  const wish = { model: model.id }
  try {
    return await complete(deps, { caller, wish, body, json, endpoint: DEMO_ENDPOINT, signal: NEVER })
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    deps.log.error({ model: model.id, error: error.message }, 'the demo got no answer')
    throw new AppError('internal', 'Failed to get response', {}, { cause: error })
  }
}

function findModel(deps: DemoDeps, wanted: string | undefined): CatalogueModel {
  const listed = listDemoModels(deps)
  const [first] = listed
  if (!first) throw new AppError('unavailable', 'Demo unavailable — service not configured.')
  if (wanted !== undefined && !DEMO_MODELS.some(({ id }) => id === wanted)) {
    throw new AppError('invalid', 'Model is not part of the demo', { models: listed.map(({ id }) => id) })
  }
  const model = priced(deps.catalogue.offers(wanted ?? first.id))
  if (!model) throw new AppError('unavailable', 'Demo unavailable — service not configured.')
  return model
}

/** Without a price nobody could tell when the day's money is spent. */
function priced(offers: readonly CatalogueModel[]): CatalogueModel | null {
  return offers.find(({ price }) => price !== null) ?? null
}

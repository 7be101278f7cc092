import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { tokenCost } from '../../core/money.ts'
import type { CatalogueModel } from '../ai/catalogue.ts'
import { type CompleteDeps, type Completed, complete } from '../ai/complete.ts'
import { PLANS } from '../plans/plans.ts'
import { DEMO_USER, type DemoBudget } from './budget.ts'
import { DEMO_MODELS } from './models.ts'
import type { DemoChatRequest } from './schemas.ts'

const DEMO_AGENT = 'demo-chat'
export const DEMO_ENDPOINT = '/api/demo/chat'
const MAX_OUTPUT_TOKENS = 1024
const CHARACTERS_PER_TOKEN = 4
const INSTRUCTIONS = 'You are a helpful assistant in a public demonstration. Answer briefly.'

export type DemoDeps = CompleteDeps & { log: Log; demoBudget: DemoBudget }

/** The listed models that somebody serves here. */
export function listDemoModels({ catalogue }: Pick<CompleteDeps, 'catalogue'>) {
  return DEMO_MODELS.filter(({ id }) => priced(catalogue.offers(id)) !== null)
}

/**
 * Lets a stranger talk to one of the listed models (Spec 4.6), within the day's budget.
 * @throws AppError `unavailable` when nobody serves a listed model or the day's money is spent, `invalid` for a model that
 * is not listed, `internal` when the model does not answer.
 */
export async function chatWithDemo(deps: DemoDeps, request: DemoChatRequest, signal: AbortSignal): Promise<Completed> {
  const model = findModel(deps, request.model)
  const said = [...request.conversation, request.message]
  const messages = [{ role: 'system', content: INSTRUCTIONS }, ...said.map((content) => ({ role: 'user', content }))]
  const body = { model: model.id, messages, max_tokens: MAX_OUTPUT_TOKENS, stream: false }
  const json = JSON.stringify(body)
  const { price } = model
  const inputTokens = Math.ceil(json.length / CHARACTERS_PER_TOKEN)
  const reservation = deps.demoBudget.reserve(
    price ? tokenCost({ inputTokens, outputTokens: MAX_OUTPUT_TOKENS }, price) : 0,
  )
  try {
    const caller = { userId: DEMO_USER, agentId: DEMO_AGENT, plan: PLANS.network, key: null, aiProvider: null }
    return await complete(deps, { caller, wish: { model: model.id }, body, json, endpoint: DEMO_ENDPOINT, signal })
  } catch (error) {
    if (signal.aborted) throw error
    deps.log.error({ model: model.id, error: errorMessage(error) }, 'the demo got no answer')
    throw new AppError('internal', 'Failed to get response', {}, { cause: error })
  } finally {
    // What it cost is in the day's sum before the money is free again.
    await deps.usage.flush()
    reservation.release()
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

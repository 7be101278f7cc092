import type { CompletionChunk, TokenUsage } from '../../adapters/ai-provider.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { tokenCost } from '../../core/money.ts'
import type { Plan } from '../plans/plans.ts'
import type { Quota, Reservation } from '../usage/quota.ts'
import type { UsageRecorder } from '../usage/record.ts'
import { type Catalogue, type CatalogueModel, requireAllowed } from './catalogue.ts'

/** Who pays for a call and what their plan allows. Calls of no agent are booked under `direct`. */
export type Caller = { userId: string; agentId: string; plan: Plan }

export type CompleteDeps = { catalogue: Catalogue; quota: Quota; usage: UsageRecorder }
/** `json` is the body as the caller sent it; it goes on untouched when the provider knows the model by the same name. */
export type CompletionRequest = {
  caller: Caller
  body: Readonly<Record<string, unknown>>
  json: string
  endpoint: string
  signal: AbortSignal
}

/** An answer and the model that gave it. */
export type Completed = { model: CatalogueModel; id: string; json: string; content: string; usage: TokenUsage }

const DEFAULT_MAX_TOKENS = 1024
const CHARACTERS_PER_TOKEN = 4

/**
 * Asks a model and books what it used, after the answer: plan, then quota, then the provider.
 * @throws AppError of the catalogue (`not_found`, `forbidden`), the quota (`limited`) or the provider.
 */
export async function complete(deps: CompleteDeps, request: CompletionRequest): Promise<Completed> {
  const call = open(deps, request)
  try {
    const answer = await call.model.provider.complete(toWire(call.model, request, {}), request.signal)
    const usage = answer.usage ?? estimateUsage(call.inputTokens, answer.content)
    call.succeed(usage)
    return { model: call.model, id: answer.id, json: answer.json, content: answer.content, usage }
  } catch (error) {
    call.fail(error)
    throw error
  }
}

/**
 * As `complete`, in pieces. Settles when the provider has begun to answer; usage is booked when the stream ends,
 * breaks, or is no longer read.
 */
export async function completeStreaming(
  deps: CompleteDeps,
  request: CompletionRequest,
): Promise<{ model: CatalogueModel; chunks: AsyncIterable<CompletionChunk> }> {
  const call = open(deps, request)
  try {
    const changes = asksForUsage(request.body) ? {} : { stream: true, stream_options: { include_usage: true } }
    const chunks = await call.model.provider.stream(toWire(call.model, request, changes), request.signal)
    return { model: call.model, chunks: book(call, chunks) }
  } catch (error) {
    call.fail(error)
    throw error
  }
}

type Call = {
  model: CatalogueModel
  inputTokens: number
  succeed(usage: TokenUsage): void
  /** `usage` is what was already received when it failed. */
  fail(error: unknown, usage?: TokenUsage): void
}

/** Chooses the model, checks plan and quota, and holds the reservation until the call is booked. */
function open(deps: CompleteDeps, { caller, body, json, endpoint }: CompletionRequest): Call {
  const model = deps.catalogue.resolve(typeof body.model === 'string' ? body.model : undefined, caller.plan)
  requireAllowed(model, caller.plan)
  const inputTokens = Math.ceil(json.length / CHARACTERS_PER_TOKEN)
  const reservation: Reservation = deps.quota.reserve(caller.userId, caller.plan, inputTokens + maxTokens(body))
  const startedAt = performance.now()

  const book = (usage: TokenUsage, errorText: string | null) => {
    reservation.release()
    deps.usage.record({
      userId: caller.userId,
      agentId: caller.agentId,
      model: model.id,
      ...usage,
      costMicroUsd: model.price ? tokenCost(usage.inputTokens, usage.outputTokens, model.price) : 0,
      endpoint,
      latencyMs: Math.round(performance.now() - startedAt),
      errorMessage: errorText,
    })
  }
  return {
    model,
    inputTokens,
    succeed: (usage) => book(usage, null),
    fail: (error, usage = { inputTokens: 0, outputTokens: 0 }) => book(usage, errorMessage(error)),
  }
}

/** The request as the provider gets it: the caller's text, unless the model's name or `changes` make another of it. */
function toWire(model: CatalogueModel, { body, json }: CompletionRequest, changes: Record<string, unknown>) {
  const changed = { ...body, ...changes, model: model.upstreamId }
  const isSame = body.model === model.upstreamId && Object.keys(changes).length === 0
  return { body: changed, json: isSame ? json : JSON.stringify(changed) }
}

/** Without it a streamed answer does not tell what it used. */
function asksForUsage({ stream, stream_options: options }: Readonly<Record<string, unknown>>): boolean {
  const isAsked = typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage
  return stream === true && isAsked === true
}

async function* book(call: Call, chunks: AsyncIterable<CompletionChunk>): AsyncGenerator<CompletionChunk> {
  let usage: TokenUsage | null = null
  let text = ''
  let failure: unknown = new AppError('upstream_failed', 'The caller left before the answer was complete')
  try {
    for await (const chunk of chunks) {
      usage = chunk.usage ?? usage
      text += chunk.text
      yield chunk
    }
    failure = null
  } catch (error) {
    failure = error
    throw error
  } finally {
    const used = usage ?? estimateUsage(call.inputTokens, text)
    if (failure === null) call.succeed(used)
    else call.fail(failure, text === '' ? undefined : used)
  }
}

/** For providers that do not count: four characters are about one token. */
function estimateUsage(inputTokens: number, content: string): TokenUsage {
  return { inputTokens, outputTokens: Math.ceil(content.length / CHARACTERS_PER_TOKEN) }
}

/** What the answer may use: providers differ in which of the two names counts, and `n` asks for several answers. */
function maxTokens(body: Readonly<Record<string, unknown>>): number {
  const asked = [body.max_completion_tokens, body.max_tokens].filter((value) => typeof value === 'number')
  const most = Math.max(0, ...asked) || DEFAULT_MAX_TOKENS
  return most * (typeof body.n === 'number' ? Math.max(1, body.n) : 1)
}

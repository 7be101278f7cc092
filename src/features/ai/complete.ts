import {
  type AiProvider,
  type CompletionBody,
  type CompletionChunk,
  ProviderError,
  type TokenUsage,
} from '../../adapters/ai-provider.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { newOrderedId } from '../../core/ids.ts'
import { type MicroUsd, tokenCost, toMicroUsd } from '../../core/money.ts'
import { PLANS, type Plan } from '../plans/plans.ts'
import type { KeyLimits, Quota, Reservation } from '../usage/quota.ts'
import type { UsageRecorder } from '../usage/record.ts'
import type { CatalogueModel } from './catalogue.ts'
import type { Cooldowns } from './cooldowns.ts'
import { chooseTargets, type RouteDeps, type Wish } from './route.ts'
import { type Attempted, tryInTurn } from './try-in-turn.ts'

/** Who pays for a call and what limits it: the plan, and the key when it has limits of its own. Calls of no agent are booked under `direct`. */
export type Caller = {
  userId: string
  agentId: string
  plan: Plan
  key: KeyLimits | null
  /** The provider that is asked first with the platform's keys; null where nobody chose one. */
  aiProvider: string | null
}

export type CompleteDeps = RouteDeps & { quota: Quota; usage: UsageRecorder; cooldowns: Cooldowns }
/** `json` is the body as the caller sent it; it goes on untouched when the provider knows the model by the same name. */
export type CompletionRequest = {
  caller: Caller
  wish: Wish
  body: Readonly<Record<string, unknown>>
  json: string
  endpoint: string
  signal: AbortSignal
}

/** The model that served a call, how many were asked for it, and under which id the call is booked. */
export type Served = { model: CatalogueModel; attempts: number; generationId: string }
/** A whole answer and what it cost. */
export type Completed = Served & {
  id: string
  json: string
  content: string
  usage: TokenUsage
  costMicroUsd: MicroUsd
}

/** What an answer may use when the caller names no bound. */
const DEFAULT_MAX_TOKENS = 4096
const CHARACTERS_PER_TOKEN = 4
/** No alphabet takes fewer bytes a token; reserved too much is given back, reserved too little would pass a limit. */
const BYTES_PER_TOKEN = 3
/** What pictures and sound cost is not what their bytes weigh. */
const EMBEDDED_DATA = /data:[\w/+.-]+;base64,[A-Za-z0-9+/=]+/g
const EMBEDDED_TOKENS = 2000

/**
 * Asks the models that `wish` means, one after another, until one answers, and books what that took, after the answer.
 * @throws AppError of the route (`not_found`, `forbidden`), the quota (`limited`) or the last provider asked.
 */
export async function complete(deps: CompleteDeps, request: CompletionRequest): Promise<Completed> {
  return ask(deps, request, (provider, wire) => provider.complete(wire, request.signal))
}

/** As `complete`, for vectors (`POST /embeddings`). */
export async function embed(deps: CompleteDeps, request: CompletionRequest): Promise<Completed> {
  return ask(deps, request, async (provider, wire) => ({
    ...(await provider.embed(wire, request.signal)),
    id: '',
    content: '',
  }))
}

type Answer = { id: string; json: string; content: string; usage: TokenUsage | null }
type Wire = { body: CompletionBody; json: string }

async function ask(
  deps: CompleteDeps,
  request: CompletionRequest,
  send: (provider: AiProvider, wire: Wire) => Promise<Answer>,
): Promise<Completed> {
  const call = open(deps, request)
  try {
    const served = await tryInTurn(deps.cooldowns, call.targets, (target) =>
      send(target.provider, toWire(target, request, call.changesFor(target))),
    )
    const { id, json, content } = served.value
    const usage = served.value.usage ?? estimateUsage(call.inputTokens, content)
    const costMicroUsd = call.succeed(served, usage)
    return { ...toServed(call, served), id, json, content, usage, costMicroUsd }
  } catch (error) {
    call.fail(error)
    throw error
  }
}

/**
 * As `complete`, in pieces. Settles when a model has begun to answer, so until then another can take over; usage is booked
 * when the stream ends, breaks, or is no longer read.
 */
export async function completeStreaming(
  deps: CompleteDeps,
  request: CompletionRequest,
): Promise<Served & { chunks: AsyncIterable<CompletionChunk> }> {
  const call = open(deps, request)
  const asksUsage = asksForUsage(request.body) ? {} : { stream: true, stream_options: { include_usage: true } }
  try {
    const served = await tryInTurn(deps.cooldowns, call.targets, async (target) => {
      const wire = toWire(target, request, { ...call.changesFor(target), ...asksUsage })
      return untilAnswer(target, await target.provider.stream(wire, request.signal))
    })
    return { ...toServed(call, served), chunks: book(call, served) }
  } catch (error) {
    call.fail(error)
    throw error
  }
}

function toServed({ generationId }: Call, { target, attempts }: Attempted<unknown>): Served {
  return { model: target, attempts, generationId }
}

/**
 * Waits for the first chunk that says something.
 * @throws ProviderError `broken` when the stream ends without one, or what the stream throws.
 */
async function untilAnswer(
  target: CatalogueModel,
  chunks: AsyncIterable<CompletionChunk>,
): Promise<AsyncIterable<CompletionChunk>> {
  const iterator = chunks[Symbol.asyncIterator]()
  const waiting: CompletionChunk[] = []
  for (;;) {
    const next = await iterator.next()
    if (next.done) throw new ProviderError('broken', `AI provider ${target.provider.id} gave an empty answer`)
    waiting.push(next.value)
    if (next.value.isAnswer) return resume(waiting, iterator)
  }
}

async function* resume(
  waiting: CompletionChunk[],
  iterator: AsyncIterator<CompletionChunk>,
): AsyncGenerator<CompletionChunk> {
  try {
    yield* waiting
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
  } finally {
    await iterator.return?.()
  }
}

type Call = {
  generationId: string
  targets: CatalogueModel[]
  inputTokens: number
  /** What has to be added to the request for `target`, so that the answer keeps to what was reserved. */
  changesFor(target: CatalogueModel): Record<string, unknown>
  /** Returns what the call cost. */
  succeed(served: Attempted<unknown>, usage: TokenUsage): MicroUsd
  /** `served` is whoever had begun to answer, `usage` what was already received when it failed. */
  fail(error: unknown, served?: Attempted<unknown>, usage?: TokenUsage): void
}

/** Chooses the models, checks plan, key and quota, and holds the reservation until the call is booked. */
function open(deps: CompleteDeps, request: CompletionRequest): Call {
  const { caller, body, json, endpoint } = request
  const generationId = newOrderedId('gen')
  const targets = chooseTargets(deps, request.wish, caller)
  const [first] = targets
  const inputTokens = Math.ceil(json.length / CHARACTERS_PER_TOKEN)
  const asked = maxTokens(body)
  const outputTokens = (asked ?? DEFAULT_MAX_TOKENS) * answersAsked(body)
  const reservation: Reservation = deps.quota.reserve(countedFor(caller, targets), {
    tokens: countForReservation(json) + outputTokens,
    costMicroUsd: Math.max(
      0,
      ...targets.map(({ price }) => (price ? tokenCost({ inputTokens, outputTokens }, price) : 0)),
    ),
  })
  const startedAt = performance.now()

  const record = (
    target: CatalogueModel | undefined,
    attempts: number,
    usage: TokenUsage,
    errorText: string | null,
  ) => {
    const costMicroUsd = target ? costOf(target, usage) : 0
    reservation.release()
    deps.usage.record({
      generationId,
      userId: caller.userId,
      agentId: caller.agentId,
      keyId: caller.key?.id ?? null,
      model: target?.id ?? '',
      provider: target?.provider.id ?? '',
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      costMicroUsd,
      attempts,
      isOwnKey: target?.paidBy !== undefined && target.paidBy !== null,
      endpoint,
      latencyMs: Math.round(performance.now() - startedAt),
      errorMessage: errorText,
    })
    return costMicroUsd
  }
  return {
    generationId,
    targets,
    inputTokens,
    changesFor(target) {
      // Near a limit the answer must not be longer than what was set aside for it.
      if (asked !== null || !reservation.isTight) return {}
      return { [target.provider.id === 'openai' ? 'max_completion_tokens' : 'max_tokens']: DEFAULT_MAX_TOKENS }
    },
    succeed: (served, usage) => record(served.target, served.attempts, usage, null),
    fail: (error, served, usage = NOTHING) =>
      void record(served?.target ?? first, served?.attempts ?? targets.length, usage, errorMessage(error)),
  }
}

/** What users pay for themselves counts against no plan; a key's own limits hold all the same. */
function countedFor(caller: Caller, targets: readonly CatalogueModel[]): Caller {
  return targets.every(({ paidBy }) => paidBy !== null) ? { ...caller, plan: PLANS.network } : caller
}

const NOTHING: TokenUsage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, costUsd: null }

/** What the provider says, or else what the price list says (rulings, 27: an unknown price counts as nothing). */
function costOf({ price }: CatalogueModel, usage: TokenUsage): MicroUsd {
  if (usage.costUsd !== null) return toMicroUsd(usage.costUsd)
  return price ? tokenCost(usage, price) : 0
}

/** Ours, not the provider's: it would choose further models by itself, outside the plan. */
const ROUTING_FIELDS = ['fallbacks', 'models', 'route', 'taskType']

/** The request as the provider gets it: the caller's text, unless the model's name or `changes` make another of it. */
function toWire(model: CatalogueModel, { body, json }: CompletionRequest, changes: Record<string, unknown>): Wire {
  const hasRouting = ROUTING_FIELDS.some((field) => body[field] !== undefined)
  const isSame = body.model === model.upstreamId && Object.keys(changes).length === 0 && !hasRouting
  if (isSame) return { body: { ...body, model: model.upstreamId }, json }
  const own = hasRouting
    ? Object.fromEntries(Object.entries(body).filter(([field]) => !ROUTING_FIELDS.includes(field)))
    : body
  const changed = { ...own, ...changes, model: model.upstreamId }
  return { body: changed, json: JSON.stringify(changed) }
}

/** Without it a streamed answer does not tell what it used. */
function asksForUsage({ stream, stream_options: options }: Readonly<Record<string, unknown>>): boolean {
  const isAsked = typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage
  return stream === true && isAsked === true
}

async function* book(call: Call, served: Attempted<AsyncIterable<CompletionChunk>>): AsyncGenerator<CompletionChunk> {
  let usage: TokenUsage | null = null
  let textLength = 0
  let failure: unknown = new AppError('upstream_failed', 'The caller left before the answer was complete')
  try {
    for await (const chunk of served.value) {
      usage = chunk.usage ?? usage
      textLength += chunk.said.length
      yield chunk
    }
    failure = null
  } catch (error) {
    failure = error
    throw error
  } finally {
    const used = usage ?? estimateUsage(call.inputTokens, textLength)
    if (failure === null) call.succeed(served, used)
    else call.fail(failure, served, used)
  }
}

/** For providers that do not count: four characters are about one token. */
function estimateUsage(inputTokens: number, content: string | number): TokenUsage {
  const length = typeof content === 'string' ? content.length : content
  return { inputTokens, cachedInputTokens: 0, outputTokens: Math.ceil(length / CHARACTERS_PER_TOKEN), costUsd: null }
}

function countForReservation(json: string): number {
  if (!json.includes(';base64,')) return Math.ceil(Buffer.byteLength(json) / BYTES_PER_TOKEN)
  let embedded = 0
  const text = json.replace(EMBEDDED_DATA, () => {
    embedded += 1
    return ''
  })
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + embedded * EMBEDDED_TOKENS
}

/** What an answer may use: providers differ in which of the two names counts. Null: not said. */
function maxTokens(body: Readonly<Record<string, unknown>>): number | null {
  const asked = [body.max_completion_tokens, body.max_tokens].filter((value) => typeof value === 'number')
  if (asked.length === 0 || Math.max(...asked) <= 0) return null
  return Math.max(...asked)
}

function answersAsked({ n }: Readonly<Record<string, unknown>>): number {
  return typeof n === 'number' ? Math.max(1, n) : 1
}

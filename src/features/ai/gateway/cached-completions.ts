import type { CompletionChunk } from '../../../adapters/models/provider.ts'
import { PLANS } from '../../accounts/plans/plans.ts'
import { attributionOf } from '../requests/attribution.ts'
import { toCacheKey } from '../response-cache/cache-key.ts'
import type { ResponseCache } from '../response-cache/response-cache.ts'
import { UNCACHED } from '../usage/rows/event.ts'
import {
  type CompleteDeps,
  type Completed,
  complete,
  completeStreaming,
  embed,
  type Served,
  type Streamed,
} from './completions.ts'
import { type CompletionRequest, keepsBodies } from './request-body.ts'
import { chooseTargets } from './routing.ts'

/** An answer without the facts of its own call, whole or as the chunks of its stream. */
export type CachedAnswer = Pick<Served, 'model' | 'isTranslated' | 'dropped'> &
  Pick<Completed, 'finishReason'> &
  ({ whole: Pick<Completed, 'id' | 'json' | 'content' | 'usage'> } | { chunks: readonly CompletionChunk[] })

export type CachedDeps = CompleteDeps & { responseCache: ResponseCache<CachedAnswer> }

/** As `complete`; callers that chose a cache may get the answer to the same earlier request, which costs nothing. */
export function completeOrRepeat(deps: CachedDeps, request: CompletionRequest): Promise<Completed> {
  return request.caller.cacheSeconds ? repeatWhole(deps, request, complete) : complete(deps, request)
}

/** As `embed`, cached like `completeOrRepeat`. */
export function embedOrRepeat(deps: CachedDeps, request: CompletionRequest): Promise<Completed> {
  return request.caller.cacheSeconds ? repeatWhole(deps, request, embed) : embed(deps, request)
}

/** As `completeStreaming`, cached like `completeOrRepeat`. */
export function streamOrRepeat(deps: CachedDeps, request: CompletionRequest): Promise<Streamed> {
  return request.caller.cacheSeconds ? repeatStream(deps, request) : completeStreaming(deps, request)
}

async function repeatWhole(deps: CachedDeps, request: CompletionRequest, ask: typeof complete): Promise<Completed> {
  const { key, hit } = find(deps, request)
  if (hit && 'whole' in hit) {
    const { whole, finishReason } = hit
    const served = toServed(hit, recordHit(deps, request, hit, whole.json))
    return { ...served, ...whole, finishReason, costMicroUsd: 0, isEstimated: false }
  }
  const completed = await ask(deps, request)
  const { id, json, content, usage, finishReason } = completed
  if (isComplete(json)) {
    store(deps, request, key, { ...toKept(completed), finishReason, whole: { id, json, content, usage } }, [json])
  }
  return { ...completed, cache: 'miss' }
}

async function repeatStream(deps: CachedDeps, request: CompletionRequest): Promise<Streamed> {
  const { key, hit } = find(deps, request)
  if (hit && 'chunks' in hit) {
    const said = hit.chunks.map((chunk) => chunk.said).join('')
    return { ...toServed(hit, recordHit(deps, request, hit, said)), chunks: repeatChunks(hit.chunks) }
  }
  const streamed = await completeStreaming(deps, request)
  const chunks = keepChunks(streamed.chunks, (kept) => {
    const finishReason = kept.findLast((chunk) => chunk.finishReason != null)?.finishReason ?? null
    store(
      deps,
      request,
      key,
      { ...toKept(streamed), finishReason, chunks: kept },
      kept.map(({ json }) => json),
    )
  })
  return { ...streamed, chunks, cache: 'miss' }
}

/** @throws AppError as `chooseTargets`: an answer is repeated only to callers who may use its model. */
function find(deps: CachedDeps, { caller, requested, endpoint, body }: CompletionRequest) {
  chooseTargets(deps, requested, caller)
  const key = toCacheKey({ userId: caller.userId, guardrails: caller.guard?.settings, endpoint, body })
  return { key, hit: deps.responseCache.find(key) }
}

function toKept({ model, isTranslated, dropped }: Served) {
  return { model, isTranslated, dropped }
}

function toServed({ model, isTranslated, dropped }: CachedAnswer, generationId: string): Served {
  return { model, isTranslated, dropped, attempts: 0, generationId, cache: 'hit' }
}

/** Records a call of the provider `cache` without tokens and cost. It counts against no limit. */
function recordHit(
  { spendings, bodyLog }: CachedDeps,
  { caller, endpoint, body, json }: CompletionRequest,
  { model, finishReason }: CachedAnswer,
  answer: string,
): string {
  const { userId, agentId, key } = caller
  const unlimited = key && { ...key, budgetMicroUsd: null, tokensPerMonth: null, endUserBudgetMicroUsd: null }
  const bill = {
    ...{ model: model.id, provider: 'cache', attempts: 0, isOwnKey: false, isEstimated: false, errorMessage: null },
    ...{ inputTokens: 0, outputTokens: 0, costMicroUsd: 0, ...UNCACHED },
    ...{ priceSource: 'cache' as const, finishReason },
  }
  const spending = spendings.begin(
    {
      spender: { userId, plan: PLANS.network, key: unlimited },
      agentId,
      endpoint,
      ...attributionOf(body, caller.tags),
      estimate: { tokens: 0, costMicroUsd: 0 },
    },
    { count: async () => bill, reserve: () => bill },
  )
  spending.record(bill)
  if (keepsBodies(caller)) {
    bodyLog.add({ generationId: spending.generationId, userId, request: json, answer })
  }
  return spending.generationId
}

/** The provider stopped early. */
const CUT = /"(?:finish_reason|stop_reason|reason)":\s*"(?:length|max_tokens|max_output_tokens|content_filter)"/

function isComplete(json: string): boolean {
  return !CUT.test(json)
}

/** A character takes at most two bytes of memory. */
const BYTES_PER_CHARACTER = 2

function store(
  { responseCache }: CachedDeps,
  { caller }: CompletionRequest,
  key: string,
  answer: CachedAnswer,
  texts: readonly string[],
): void {
  const characters = texts.reduce((sum, text) => sum + text.length, 0)
  responseCache.store(key, answer, {
    seconds: caller.cacheSeconds ?? 0,
    sizeBytes: characters * BYTES_PER_CHARACTER,
  })
}

async function* repeatChunks(chunks: readonly CompletionChunk[]): AsyncGenerator<CompletionChunk> {
  yield* chunks
}

/** Longer streams are not kept. */
const MAX_KEPT_CHARACTERS = 1_000_000

/** Passes chunks on, and calls `onEnd` with all of them once the stream has ended regularly. */
async function* keepChunks(
  chunks: AsyncIterable<CompletionChunk>,
  onEnd: (chunks: readonly CompletionChunk[]) => void,
): AsyncGenerator<CompletionChunk> {
  let kept: CompletionChunk[] | null = []
  let characters = 0
  for await (const chunk of chunks) {
    characters += chunk.json.length
    if (characters > MAX_KEPT_CHARACTERS || !isComplete(chunk.json)) kept = null
    kept?.push(chunk)
    yield chunk
  }
  if (kept) onEnd(kept)
}

import {
  type AiProvider,
  type CompletionChunk,
  ProviderError,
  type TokenUsage,
} from '../../../adapters/models/provider.ts'
import type { TokenCounter } from '../../../adapters/models/token-counter.ts'
import { AppError } from '../../../core/errors.ts'
import type { CatalogueModel } from '../catalogue/catalogue.ts'
import type { Spendings } from '../usage/spend.ts'
import { type Attempt, type Billed, beginAttempt } from './attempt.ts'
import {
  type CompletionRequest,
  type RequestSize,
  sizeOfCompletion,
  sizeOfEmbedding,
  toBound,
  toUsageOption,
  toWire,
  type Wire,
} from './request-body.ts'
import { type Attempted, type Cooldowns, chooseTargets, type RouteDeps, tryInTurn } from './routing.ts'

export type CompleteDeps = RouteDeps & { cooldowns: Cooldowns; spendings: Spendings; tokens: TokenCounter }

/** The model that served a call, the number of attempts, and the id of its usage record. */
export type Served = { model: CatalogueModel; attempts: number; generationId: string }
/** A complete answer and its cost. */
export type Completed = Served & Billed & { id: string; json: string; content: string }

/**
 * Completes a chat: chooses the models, reserves quota, tries one model after another, and records the usage of each attempt.
 * @throws AppError of the routing (`not_found`, `forbidden`, `payment_required`), of the quota (`limited`), or of the last
 * provider.
 */
export async function complete(deps: CompleteDeps, request: CompletionRequest): Promise<Completed> {
  const size = sizeOfCompletion(request.body, request.json)
  return ask(deps, request, size, (provider, wire) => provider.complete(wire, request.signal))
}

/** As `complete`, for embeddings. */
export async function embed(deps: CompleteDeps, request: CompletionRequest): Promise<Completed> {
  return ask(deps, request, sizeOfEmbedding(request.json), async (provider, wire) => ({
    ...(await provider.embed(wire, request.signal)),
    id: '',
    content: '',
    said: '',
  }))
}

type Answer = { id: string; json: string; content: string; said: string; usage: TokenUsage | null }

async function ask(
  deps: CompleteDeps,
  request: CompletionRequest,
  size: RequestSize,
  send: (provider: AiProvider, wire: Wire) => Promise<Answer>,
): Promise<Completed> {
  const served = await askInTurn(deps, request, size, (target, attempt) =>
    send(target.provider, toWire(target, request, toBound(target, size, attempt.isTight))),
  )
  const { attempt, value } = served.value
  const { id, json, content } = value
  const billed = await attempt.succeed(value)
  return { ...toServed(served), id, json, content, ...billed }
}

/**
 * As `complete`, streamed. Resolves with the first chunk of an answer; until then another model can take over. Usage is
 * recorded when the stream ends, fails, or is no longer read.
 */
export async function completeStreaming(
  deps: CompleteDeps,
  request: CompletionRequest,
): Promise<Served & { chunks: AsyncIterable<CompletionChunk> }> {
  const size = sizeOfCompletion(request.body, request.json)
  const usageOption = toUsageOption(request.body)
  const served = await askInTurn(deps, request, size, async (target, attempt) => {
    const wire = toWire(target, request, { ...toBound(target, size, attempt.isTight), ...usageOption })
    return untilAnswer(target, noting(attempt, await target.provider.stream(wire, request.signal)))
  })
  return { ...toServed(served), chunks: recordUsageOf(served.value.attempt, served.value.value) }
}

type Underway<T> = { attempt: Attempt; value: T }

function toServed({ target, attempts, value }: Attempted<Underway<unknown>>): Served {
  return { model: target, attempts, generationId: value.attempt.generationId }
}

/** Reserves and records every request to a provider as an attempt of its own, because each may cost money. */
async function askInTurn<T>(
  deps: CompleteDeps,
  request: CompletionRequest,
  size: RequestSize,
  send: (target: CatalogueModel, attempt: Attempt) => Promise<T>,
): Promise<Attempted<Underway<T>>> {
  const targets = chooseTargets(deps, request.requested, request.caller)
  let number = 0
  // A refused attempt is recorded only when no later one succeeds.
  let refused: Attempt | null = null
  const begin = (target: CatalogueModel) => {
    refused?.cancel()
    refused = null
    return beginAttempt(deps, { request, size, target, number })
  }
  try {
    return await tryInTurn(deps.cooldowns, targets, async (target) => {
      request.signal.throwIfAborted()
      number += 1
      const attempt = begin(target)
      try {
        return { attempt, value: await send(target, attempt) }
      } catch (error) {
        if (!attempt.fail(error)) refused = attempt
        throw error
      }
    })
  } catch (error) {
    const [first] = targets
    const unasked = number === 0 && first && error instanceof ProviderError ? begin(first) : null
    const failed = refused ?? unasked
    failed?.giveUp(error)
    throw error
  }
}

async function* noting(attempt: Attempt, chunks: AsyncIterable<CompletionChunk>): AsyncGenerator<CompletionChunk> {
  for await (const chunk of chunks) {
    attempt.hear(chunk)
    yield chunk
  }
}

/** Waits for the first chunk with content. @throws ProviderError `broken` when the stream ends without one. */
async function untilAnswer(
  target: CatalogueModel,
  chunks: AsyncIterable<CompletionChunk>,
): Promise<AsyncIterable<CompletionChunk>> {
  const iterator = chunks[Symbol.asyncIterator]()
  const waiting: CompletionChunk[] = []
  for (;;) {
    const next = await iterator.next()
    if (next.done) {
      throw new ProviderError('broken', `AI provider ${target.provider.id} gave an empty answer`, { isSpent: true })
    }
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

async function* recordUsageOf(
  attempt: Attempt,
  chunks: AsyncIterable<CompletionChunk>,
): AsyncGenerator<CompletionChunk> {
  let failure: unknown = new AppError('upstream_failed', 'The caller left before the answer was complete')
  try {
    yield* chunks
    failure = null
  } catch (error) {
    failure = error
    throw error
  } finally {
    if (failure === null) attempt.finish()
    else if (!attempt.fail(failure)) attempt.giveUp(failure)
  }
}

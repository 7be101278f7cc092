import {
  type AiProvider,
  type CompletionChunk,
  ProviderError,
  type TokenUsage,
} from '../../../adapters/models/provider.ts'
import type { TokenCounter } from '../../../adapters/models/token-counter.ts'
import { AppError } from '../../../core/errors.ts'
import type { Spendings } from '../usage/spend.ts'
import type { CatalogueModel } from './catalogue/catalogue.ts'
import type { CompletionRequest } from './requests/completion-request.ts'
import { type RequestSize, sizeOfCompletion, sizeOfEmbedding } from './requests/size.ts'
import { toBound, toUsageWish, toWire, type Wire } from './requests/wire.ts'
import { type Attempt, type Billed, beginAttempt } from './routing/attempt.ts'
import type { Cooldowns } from './routing/cooldowns.ts'
import { chooseTargets, type RouteDeps } from './routing/route.ts'
import { type Attempted, tryInTurn } from './routing/try-in-turn.ts'

export type CompleteDeps = RouteDeps & { cooldowns: Cooldowns; spendings: Spendings; tokens: TokenCounter }

/** The model that served a call, how many were asked for it, and under which id the call is booked. */
export type Served = { model: CatalogueModel; attempts: number; generationId: string }
/** A whole answer and what it cost. */
export type Completed = Served & Billed & { id: string; json: string; content: string }

/**
 * Asks the models that `wish` means, one after another, until one answers, and books what each of them took.
 * @throws AppError of the route (`not_found`, `forbidden`, `payment_required`), the quota (`limited`) or the last provider
 * asked.
 */
export async function complete(deps: CompleteDeps, request: CompletionRequest): Promise<Completed> {
  const size = sizeOfCompletion(request.body, request.json)
  return ask(deps, request, size, (provider, wire) => provider.complete(wire, request.signal))
}

/** As `complete`, for vectors (`POST /embeddings`). */
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
 * As `complete`, in pieces. Settles when a model has begun to answer, so until then another can take over; usage is booked
 * when the stream ends, breaks, or is no longer read.
 */
export async function completeStreaming(
  deps: CompleteDeps,
  request: CompletionRequest,
): Promise<Served & { chunks: AsyncIterable<CompletionChunk> }> {
  const size = sizeOfCompletion(request.body, request.json)
  const usageWish = toUsageWish(request.body)
  const served = await askInTurn(deps, request, size, async (target, attempt) => {
    const wire = toWire(target, request, { ...toBound(target, size, attempt.isTight), ...usageWish })
    return untilAnswer(target, hearing(attempt, await target.provider.stream(wire, request.signal)))
  })
  return { ...toServed(served), chunks: booking(served.value.attempt, served.value.value) }
}

type Underway<T> = { attempt: Attempt; value: T }

function toServed({ target, attempts, value }: Attempted<Underway<unknown>>): Served {
  return { model: target, attempts, generationId: value.attempt.generationId }
}

/** Every request that leaves is an attempt of its own: each may have cost something, whoever answers in the end. */
async function askInTurn<T>(
  deps: CompleteDeps,
  request: CompletionRequest,
  size: RequestSize,
  send: (target: CatalogueModel, attempt: Attempt) => Promise<T>,
): Promise<Attempted<Underway<T>>> {
  const targets = chooseTargets(deps, request.wish, request.caller)
  let number = 0
  // The last one, while it has failed without a cost: it is told of only when nobody else answers.
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

async function* hearing(attempt: Attempt, chunks: AsyncIterable<CompletionChunk>): AsyncGenerator<CompletionChunk> {
  for await (const chunk of chunks) {
    attempt.hear(chunk)
    yield chunk
  }
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

async function* booking(attempt: Attempt, chunks: AsyncIterable<CompletionChunk>): AsyncGenerator<CompletionChunk> {
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

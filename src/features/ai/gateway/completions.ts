import {
  type Completion,
  type CompletionChunk,
  ProviderError,
  type TokenUsage,
} from '../../../adapters/models/provider.ts'
import type { TokenCount } from '../../../adapters/models/token-parser.ts'
import { AppError } from '../../../core/errors.ts'
import type { CatalogueModel } from '../catalogue/catalogue.ts'
import type { Guard } from '../guardrails/guard.ts'
import { guardChunks } from '../guardrails/guard-chunks.ts'
import { guardAnswer, guardRequest, toGuardedCall } from '../guardrails/guard-request.ts'
import { cleanText } from '../guardrails/scan.ts'
import { attributionOf } from '../requests/attribution.ts'
import type { TrailStep } from '../usage/tables.ts'
import { type Attempt, type AttemptDeps, type Billed, beginAttempt, type Trail } from './attempt.ts'
import { type BodyForms, toBodyForms } from './dialects/body-forms.ts'
import {
  type BodyForm,
  type CompletionRequest,
  type RequestSize,
  sizeOfCompletion,
  sizeOfEmbedding,
  toBound,
  toStreamOptions,
  toWire,
} from './request-body.ts'
import { type Attempted, type Cooldowns, chooseTargets, type RouteDeps, tryInTurn } from './routing.ts'
import { requirePricedTools, sizeOfTools, type ToolSize, toToolBound } from './tools/built-in-tools.ts'

export type CompleteDeps = RouteDeps & AttemptDeps & { cooldowns: Cooldowns }

/**
 * The model that served a call, the number of attempts, and the id of its usage record. `isTranslated`: the answer is a chat
 * completion although the request was not, and the tools `dropped` were left out.
 */
export type Served = {
  model: CatalogueModel
  attempts: number
  generationId: string
  isTranslated: boolean
  dropped: readonly string[]
  /** `hit` for a repeated answer; absent without a cache. */
  cache?: 'hit' | 'miss'
}
/** A complete answer and its cost. */
export type Completed = Served & Billed & { id: string; json: string; content: string; finishReason: string | null }

/** A streamed answer. `prompt`: the tokens of the request, where its dialect's streams begin with them. */
export type Streamed = Served & { chunks: AsyncIterable<CompletionChunk>; prompt?: Promise<TokenCount> | null }

/** A request, the most that it may use, and the bodies for its targets. */
type Call = { request: CompletionRequest; size: RequestSize; tools: ToolSize; forms: BodyForms }

/**
 * Completes a request: checks the caller's guardrails, chooses the models, reserves quota, tries one model after another, and records the usage of each attempt.
 * @throws AppError of the routing (`not_found`, `forbidden`, `payment_required`), `invalid` for a request that no model can
 * take and GUARDRAIL_BLOCKED, `limited` of the quota, or the error of the last provider.
 */
export async function complete(deps: CompleteDeps, asked: CompletionRequest): Promise<Completed> {
  const { guard } = asked.caller
  const request = guard ? await guardRequest(guard, asked) : asked
  const call = openCall(deps, request, sizeOfCompletion(request.body, request.json))
  return ask(deps, call, (target, wire) => target.provider.complete(wire, request.signal))
}

/** As `complete`, for embeddings. */
export async function embed(deps: CompleteDeps, asked: CompletionRequest): Promise<Completed> {
  const { guard } = asked.caller
  const request = guard ? await guardRequest(guard, asked) : asked
  const call = openCall(deps, request, sizeOfEmbedding(request.body, request.json))
  return ask(deps, call, async (target, wire) => ({
    ...(await target.provider.embed(wire, request.signal)),
    id: '',
    content: '',
    said: '',
  }))
}

function openCall(deps: CompleteDeps, request: CompletionRequest, size: RequestSize): Call {
  const forms = toBodyForms(request, chooseTargets(deps, request.requested, request.caller))
  const dialect = request.translator?.dialect ?? 'chat'
  const tools = sizeOfTools(dialect, request.body)
  requirePricedTools(request.caller, dialect, tools, forms.targets)
  return { request, size, tools, forms }
}

/** Limits a tight call to what it reserved. */
function toBounds({ size, tools }: Call, target: CatalogueModel, form: BodyForm, isTight: boolean) {
  const bound = toBound(target, form, size, isTight)
  return isTight && form.dialect !== 'chat' ? { ...bound, ...toToolBound(form.dialect, form.body, tools) } : bound
}

type Answer = Pick<Completion, 'id' | 'json' | 'content' | 'said' | 'usage' | 'finishReason' | 'toolUses'>

async function ask(
  deps: CompleteDeps,
  call: Call,
  send: (target: CatalogueModel, wire: ReturnType<typeof toWire>) => Promise<Answer>,
): Promise<Completed> {
  const served = await askInTurn(deps, call, (target, attempt) => {
    const form = call.forms.formOf(target)
    return send(target, toWire(target, form, toBounds(call, target, form, attempt.isTight)))
  })
  const { attempt, value } = served.value
  const { guard } = call.request.caller
  const passed = guard?.checksOutput ? await guardAnswered(guard, call.request, served.value) : value
  const billed = await attempt.succeed(value)
  await deps.spendings.confirm?.()
  const { id, json, content, finishReason = null } = passed
  const { model, attempts, generationId, isTranslated, dropped } = toServed(call, served)
  const { usage, costMicroUsd, isEstimated } = billed
  return {
    model,
    attempts,
    generationId,
    isTranslated,
    dropped,
    id,
    json,
    content,
    finishReason,
    usage,
    costMicroUsd,
    isEstimated,
  }
}

/** The answer is paid for by then, also when it is blocked. @throws AppError `invalid` GUARDRAIL_BLOCKED. */
async function guardAnswered(
  guard: Guard,
  request: CompletionRequest,
  { attempt, value }: Underway<Answer>,
): Promise<Answer> {
  try {
    const json = await guardAnswer(guard, request, value.json)
    return { ...value, json, content: cleanText(guard.rules, value.content).text }
  } catch (error) {
    attempt.withhold(value, error)
    throw error
  }
}

/**
 * As `complete`, streamed. Resolves with the first chunk of an answer; until then another model can take over. Usage is
 * recorded when the stream ends, fails, or is no longer read.
 */
export async function completeStreaming(deps: CompleteDeps, asked: CompletionRequest): Promise<Streamed> {
  const { guard } = asked.caller
  const request = guard ? await guardRequest(guard, asked) : asked
  const call = openCall(deps, request, sizeOfCompletion(request.body, request.json))
  let prompt: Promise<TokenCount> | null = null
  const answered = await askInTurn(deps, call, async (target, attempt) => {
    const form = call.forms.formOf(target)
    // Counted while the provider works, so that the answer need not wait.
    if (request.translator?.startsWithUsage && form.dialect === 'chat') {
      prompt ??= deps.tokens.count({ request: request.json, said: '' })
    }
    const changes = { ...toBounds(call, target, form, attempt.isTight), ...toStreamOptions(form) }
    const wire = toWire(target, form, changes)
    return untilAnswer(target, attempt, await target.provider.stream(wire, request.signal))
  })
  const served = toServed(call, answered)
  const { attempt, value } = answered.value
  const chunks = hearRest(attempt, value)
  const passed = guard ? guardChunks(guard, chunks, toGuardedCall(request)) : chunks
  return {
    ...served,
    prompt,
    chunks: recordUsageOf(attempt, passed, { addsUsage: served.isTranslated, confirm: deps.spendings.confirm }),
  }
}

type Underway<T> = { attempt: Attempt; value: T }

function toServed({ request, forms }: Call, { target, attempts, value }: Attempted<Underway<unknown>>): Served {
  const isTranslated = request.translator !== undefined && forms.formOf(target).dialect === 'chat'
  return {
    model: target,
    attempts,
    generationId: value.attempt.generationId,
    isTranslated,
    dropped: isTranslated ? forms.dropped : [],
  }
}

/** Reserves and records every request to a provider as an attempt of its own, because each may cost money. */
async function askInTurn<T>(
  deps: CompleteDeps,
  { request, size, tools, forms: { targets } }: Call,
  send: (target: CatalogueModel, attempt: Attempt) => Promise<T>,
): Promise<Attempted<Underway<T>>> {
  const { endUser, tags } = attributionOf(request.body, request.caller.tags)
  const trail: Trail = { endUser, tags, callId: null, steps: [] }
  let number = 0
  // A refused attempt is recorded only when no later one succeeds.
  let refused: Attempt | null = null
  const begin = (target: CatalogueModel) => {
    refused?.cancel()
    refused = null
    return beginAttempt(deps, { request, size, tools, target, number, trail })
  }
  try {
    return await tryInTurn(deps.cooldowns, targets, async (target) => {
      request.signal.throwIfAborted()
      number += 1
      if (number === 1) trail.steps.push(...listSkipped(targets, target))
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

/** Lists the preferred models before `first`, which rest after earlier failures. */
function listSkipped(targets: readonly CatalogueModel[], first: CatalogueModel): TrailStep[] {
  if (targets[0] === first) return []
  return targets.slice(0, targets.indexOf(first)).map(({ id, provider }) => ({
    ...{ generationId: null, model: id, provider: provider.id, latencyMs: 0 },
    ...{ failure: 'cooldown', error: null },
  }))
}

/** A stream whose answer has begun, and the chunks that were already read. */
type Begun = { read: readonly CompletionChunk[]; rest: AsyncIterator<CompletionChunk> }

/** Reads up to the first chunk with content. @throws ProviderError `broken` when the stream ends without one. */
async function untilAnswer(
  target: CatalogueModel,
  attempt: Attempt,
  chunks: AsyncIterable<CompletionChunk>,
): Promise<Begun> {
  const rest = chunks[Symbol.asyncIterator]()
  const read: CompletionChunk[] = []
  for (;;) {
    const next = await rest.next()
    if (next.done) {
      throw new ProviderError('broken', `AI provider ${target.provider.id} gave an empty answer`, { isSpent: true })
    }
    attempt.hear(next.value)
    read.push(next.value)
    if (next.value.isAnswer) return { read, rest }
  }
}

/** Iterates over the chunks that were already read, then the rest. A generator here would add three promises per chunk. */
function hearRest(attempt: Attempt, { read, rest }: Begun): AsyncIterableIterator<CompletionChunk> {
  const unsent = [...read]
  const chunks: AsyncIterableIterator<CompletionChunk> = {
    [Symbol.asyncIterator]: () => chunks,
    async next() {
      const first = unsent.shift()
      if (first) return { done: false, value: first }
      const next = await rest.next()
      if (!next.done) attempt.hear(next.value)
      return next
    },
    async return() {
      unsent.length = 0
      await rest.return?.()
      return { done: true, value: undefined }
    },
  }
  return chunks
}

/**
 * With `addsUsage`, a stream whose provider reports no usage ends with a chunk that contains the counted tokens. With
 * `confirm`, its last chunk follows when the usage is confirmed.
 */
async function* recordUsageOf(
  attempt: Attempt,
  chunks: AsyncIterable<CompletionChunk>,
  { addsUsage, confirm }: { addsUsage: boolean; confirm: CompleteDeps['spendings']['confirm'] },
): AsyncGenerator<CompletionChunk> {
  let held: CompletionChunk | null = null
  let failure: unknown = new AppError('upstream_failed', 'The caller left before the answer was complete')
  let counted: Promise<TokenUsage> | null = null
  try {
    if (confirm === null) yield* chunks
    else
      for await (const chunk of chunks) {
        if (held) yield held
        held = chunk
      }
    failure = null
  } catch (error) {
    failure = error
    throw error
  } finally {
    if (failure === null) counted = attempt.finish()
    else if (!attempt.fail(failure)) attempt.giveUp(failure)
  }
  const usage = confirm || addsUsage ? await counted : null
  await confirm?.()
  if (held) yield held
  if (addsUsage && usage) yield toUsageChunk(usage)
}

function toUsageChunk({ inputTokens, outputTokens, ...usage }: TokenUsage): CompletionChunk {
  const total = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  }
  const json = JSON.stringify({ choices: [], usage: total })
  return { event: null, json, said: '', isAnswer: false, isLast: true, usage: { inputTokens, outputTokens, ...usage } }
}

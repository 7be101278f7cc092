import { AppError, type ErrorKind } from '../../core/errors.ts'
import type { TokenPrice } from '../../core/money.ts'

/** A chat-completions request in the OpenAI form; what we do not know passes through untouched. */
export type CompletionBody = Readonly<Record<string, unknown>> & { model: string }

/** A request and its JSON text, which is the caller's own wherever nothing had to be changed. */
export type CompletionRequest = { body: CompletionBody; json: string }

/**
 * What a call used, as the provider reports it. `cachedInputTokens` are a part of `inputTokens`; `costUsd` is what it says
 * the call cost, null when it does not say.
 */
export type TokenUsage = {
  inputTokens: number
  cachedInputTokens: number
  outputTokens: number
  costUsd: number | null
}

/**
 * A whole answer: `json` is the provider's own text, the rest is what we need to know of it. `content` is the text of the
 * first choice, `said` everything in all of them that costs tokens: text, thoughts, refusals and tool calls.
 */
export type Completion = {
  json: string
  id: string
  model: string
  content: string
  said: string
  usage: TokenUsage | null
}

/**
 * One event of a streamed answer: `json` to pass on, what it says that costs tokens, and the usage when it carries it.
 * `isAnswer` is true from the first one that says something: text, thoughts, a tool call, a refusal or a reason to end.
 */
export type CompletionChunk = { json: string; said: string; isAnswer: boolean; usage: TokenUsage | null }

/** Vectors for texts: `json` is the provider's own answer. */
export type Embedding = { json: string; model: string; usage: TokenUsage | null }

export type ListedProviderModel = {
  id: string
  name: string | null
  contextLength: number | null
  description: string | null
  /** What it can do, in the aggregator's words: `tools`, `vision`, `reasoning`. */
  tags: readonly string[]
  price: TokenPrice | null
}

/**
 * Why a provider gave no answer. `caller`: the request itself is at fault, another provider would refuse it as well.
 * `limited`: it wants to be asked later. `credentials`: it does not accept ours. `missing`: it does not have this model.
 * `broken`: unreachable, cut off, empty or unreadable. `timeout`: too slow.
 */
export type ProviderFailure = 'caller' | 'limited' | 'credentials' | 'missing' | 'broken' | 'timeout'

/**
 * What providers throw. `retryAfterMs` is the wait a `limited` one asked for. `isSpent`: the request was taken, so it may
 * have cost something although no whole answer came; `usage` is what the provider reported of it.
 */
export class ProviderError extends AppError {
  readonly failure: ProviderFailure
  readonly retryAfterMs: number | null
  readonly isSpent: boolean
  readonly usage: TokenUsage | null
  constructor(
    failure: ProviderFailure,
    message: string,
    options: ErrorOptions & { retryAfterMs?: number | null; isSpent?: boolean; usage?: TokenUsage | null } = {},
  ) {
    const { retryAfterMs = null, isSpent = false, usage = null } = options
    const extra = retryAfterMs === null ? {} : { retryAfter: String(Math.ceil(retryAfterMs / 1000)) }
    super(KINDS[failure], message, extra, options)
    this.failure = failure
    this.retryAfterMs = retryAfterMs
    this.isSpent = isSpent
    this.usage = usage
  }
}

const KINDS: Readonly<Record<ProviderFailure, ErrorKind>> = {
  caller: 'invalid',
  limited: 'limited',
  credentials: 'upstream_failed',
  missing: 'upstream_failed',
  broken: 'upstream_failed',
  timeout: 'upstream_timeout',
}

/** Something that completes chats. Every method throws ProviderError, or the signal's reason when it aborts. */
export type AiProvider = {
  id: string
  complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion>
  /** Settles with the first chunk under way; the iteration throws when the stream is cut off before its end. */
  stream(request: CompletionRequest, signal: AbortSignal): Promise<AsyncIterable<CompletionChunk>>
  embed(request: CompletionRequest, signal: AbortSignal): Promise<Embedding>
  listModels(signal: AbortSignal): Promise<ListedProviderModel[]>
  /** Costs nothing. @throws ProviderError `credentials` for a key that it does not accept. */
  tryKey(signal: AbortSignal): Promise<void>
}

import { AppError, type ErrorKind } from '../../core/errors.ts'
import type { TokenPrice, Tokens } from '../../core/money.ts'
import type { DIALECTS } from '../../core/settings/custom-providers.ts'

/** A wire format of model calls: Chat Completions, Anthropic's Messages, or OpenAI's Responses. */
export type Dialect = (typeof DIALECTS)[number]

/** A request in a dialect; unknown fields are passed through. */
export type CompletionBody = Readonly<Record<string, unknown>> & { model: string }

/** A request and its JSON text, the caller's original text unless it was changed. */
export type ProviderCall = { body: CompletionBody; json: string }

/** A completion request. `headers` are the caller's headers that the provider has to see, such as `anthropic-beta`. */
export type CompletionRequest = ProviderCall & { dialect: Dialect; headers?: Readonly<Record<string, string>> }

/**
 * Usage as reported by the provider. `inputTokens` are all prompt tokens: those read from the provider's cache
 * (`cachedInputTokens`), those written to it for 5 minutes or an hour (`cacheCreation…`), and the rest. `costUsd` is null
 * when not reported.
 */
export type TokenUsage = Required<Tokens> & { costUsd: number | null }

/** Uses of tools that the vendor runs itself and charges by use. */
export type ToolUses = { webSearches: number; fileSearches: number }
export const NO_TOOL_USES: ToolUses = { webSearches: 0, fileSearches: 0 }

/**
 * A complete answer: `json` is the provider's text, `content` the text of the first choice, `said` all billable output
 * (text, reasoning, refusals, tool calls).
 */
export type Completion = {
  json: string
  id: string
  model: string
  content: string
  said: string
  usage: TokenUsage | null
  /** The provider's word for why the answer ended. */
  finishReason?: string | null
  toolUses?: ToolUses | undefined
}

/**
 * One stream event: its name, null in Chat Completions, `json` to pass on, its billable output, and the usage so far if
 * reported. `isAnswer` is true for an event with output or a finish reason, `isLast` for one that ends the stream.
 */
export type CompletionChunk = {
  event: string | null
  json: string
  said: string
  isAnswer: boolean
  isLast: boolean
  usage: TokenUsage | null
  finishReason?: string | null
  /** All uses so far, where they are reported. */
  toolUses?: ToolUses | undefined
}

/** Embedding vectors; `json` is the provider's answer. */
export type Embedding = { json: string; model: string; usage: TokenUsage | null }

export type ListedProviderModel = {
  id: string
  name: string | null
  contextLength: number | null
  description: string | null
  /** Capabilities as the aggregator names them: `tools`, `vision`, `reasoning`. */
  tags: readonly string[]
  price: TokenPrice | null
}

/**
 * Reason for a failed call. `caller`: invalid request. `limited`: rate limit. `credentials`: rejected key. `missing`:
 * unknown model. `broken`: unreachable, truncated, empty or unreadable. `timeout`: too slow.
 */
export type ProviderFailure = 'caller' | 'limited' | 'credentials' | 'missing' | 'broken' | 'timeout'

/**
 * Error of a provider. `retryAfterMs` is the wait requested by a `limited` one; `isSpent` means the call may have cost
 * money, with the reported `usage`.
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

/** A provider of models. Every method throws ProviderError, or the signal's reason when aborted. */
export type AiProvider = {
  id: string
  dialects: readonly Dialect[]
  complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion>
  /** Resolves after the first chunk; the iteration throws when the stream is cut off. */
  stream(request: CompletionRequest, signal: AbortSignal): Promise<AsyncIterable<CompletionChunk>>
  /** Counts the input tokens of a request at no cost. Returns null when the provider has no count for the dialect. */
  countTokens?(request: CompletionRequest, signal: AbortSignal): Promise<number | null>
  embed(request: ProviderCall, signal: AbortSignal): Promise<Embedding>
  listModels(signal: AbortSignal): Promise<ListedProviderModel[]>
  /** Validates the key at no cost. @throws ProviderError `credentials` for a rejected key. */
  tryKey(signal: AbortSignal): Promise<void>
}

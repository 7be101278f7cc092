import type { Dialect } from '../../../adapters/models/provider.ts'
import type { AppError } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json/json-object.ts'

/** One server-sent event; `event` is also the `type` of `data` in every dialect. */
export type DialectEvent = { event: string; data: JsonObject }

/** A request translated to Chat Completions, and the built-in tools that were left out of it. */
export type Translated = { body: JsonObject; dropped: readonly string[] }

/** Facts for an answer that the provider's chat completion does not contain. */
export type AnswerContext = {
  /** The model that served the call. */
  model: string
  /** The caller's body, in the caller's dialect. */
  request: JsonObject
  /** The body with the whole conversation, when a part of it was stored. */
  sent?: JsonObject
  /** The counted tokens of the prompt, for dialects whose streams begin with them. */
  inputTokens?: number
  newId(prefix: string): string
  nowSeconds(): number
}

/** Translates one streamed answer. `end` or `fail` is called once, after the last `push`. */
export type StreamTranslator = {
  /** Takes a `chat.completion.chunk`; one of them, usually the last, contains `usage`. */
  push(chunk: JsonObject): DialectEvent[]
  end(): DialectEvent[]
  /** Ends a stream that the provider cut off. */
  fail(error: AppError): DialectEvent[]
}

/**
 * Translates between a dialect and Chat Completions, without side effects. The gateway adds `usage` to answers of
 * providers that report none.
 */
export type DialectTranslator = {
  dialect: Dialect
  /** A stream begins with the tokens of the prompt, which Chat Completions reports last. */
  startsWithUsage?: true
  /** @throws AppError `invalid` for a request that Chat Completions cannot express. */
  toChatRequest(request: JsonObject): Translated
  /** Returns the request for providers of the dialect, which refuse some parts of translated answers; the same when there are none. */
  toOwnRequest?(request: JsonObject): JsonObject
  fromChatCompletion(completion: JsonObject, context: AnswerContext): JsonObject
  createStreamTranslator(context: AnswerContext): StreamTranslator
  /** Returns the status and body of an error that is sent instead of an answer. */
  toErrorBody(error: AppError, requestId?: string): { status: number; body: JsonObject }
}

import type { Completion, CompletionChunk, Dialect } from './provider.ts'

/** A server-sent event of a provider. */
export type WireEvent = { event?: string | undefined; data: string }

/** The path of a dialect below a provider's base URL, and the parsers of its answers. */
export type WireFormat = {
  path: string
  /** The path of the dialect's own token count, if it has one; the answer contains `input_tokens`. */
  countPath?: string
  /** @throws ProviderError `broken`, SyntaxError. */
  toCompletion(provider: string, json: string): Completion
  /**
   * Creates the parser of one stream, which returns null for an end marker that is not an event.
   * @throws ProviderError `broken` for an error event, SyntaxError.
   */
  createStreamReader(provider: string): (event: WireEvent) => CompletionChunk | null
}

/** The dialects of vendors' own APIs. */
const NATIVE_DIALECTS: Readonly<Record<string, readonly Dialect[]>> = {
  openrouter: ['chat', 'messages', 'responses'],
  openai: ['chat', 'responses'],
  anthropic: ['chat', 'messages'],
}

/** Returns the dialects of a built-in provider; others speak Chat Completions. */
export function dialectsOf(provider: string): readonly Dialect[] {
  return NATIVE_DIALECTS[provider] ?? ['chat']
}

/** Returns the message for an answer in an unexpected format. */
export function unreadable(provider: string): string {
  return `AI provider ${provider} gave an answer that cannot be read`
}

import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import type { AnswerContext } from '../dialect.ts'

/** The parts of a response that differ between its creation and its end. */
export type ResponseState = {
  id: string
  createdAt: number
  status: 'in_progress' | 'completed' | 'incomplete'
  completedAt?: number
  output?: readonly JsonObject[]
  usage?: JsonObject | null
  incompleteReason?: 'max_output_tokens' | 'content_filter'
}

/** Builds a response object as OpenAI does: the caller's parameters with their defaults, and the state of the answer. */
export function toResponseObject({ model, request }: Pick<AnswerContext, 'model' | 'request'>, state: ResponseState) {
  const { incompleteReason } = state
  return {
    id: state.id,
    object: 'response',
    created_at: state.createdAt,
    status: state.status,
    background: false,
    completed_at: state.completedAt ?? null,
    error: null,
    incomplete_details: incompleteReason ? { reason: incompleteReason } : null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    model,
    output: state.output ?? [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...objectOf(request.reasoning) },
    safety_identifier: request.safety_identifier ?? null,
    service_tier: 'default',
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { format: { type: 'text' }, verbosity: 'medium', ...objectOf(request.text) },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: 'disabled',
    usage: state.usage ?? null,
    user: request.user ?? null,
    metadata: request.metadata ?? {},
  }
}

/** Translates the usage of a chat completion. Providers use three names for cached input. */
export function toResponseUsage(usage: JsonObject): JsonObject {
  const prompt = objectOf(usage.prompt_tokens_details)
  const cached = prompt.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens
  const inputTokens = countOf(usage.prompt_tokens)
  const outputTokens = countOf(usage.completion_tokens)
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: countOf(cached), cache_write_tokens: countOf(prompt.cache_write_tokens) },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: countOf(objectOf(usage.completion_tokens_details).reasoning_tokens) },
    total_tokens: inputTokens + outputTokens,
  }
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

import { AppError } from '../../../../core/errors.ts'
import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import type { AnswerContext } from '../dialect.ts'

/** The signature of thinking that no vendor signed. Such blocks must not be sent to Anthropic, which verifies signatures. */
export const UNSIGNED = 'stead-unsigned'

/** Translates a chat completion to a message. @throws AppError `upstream_failed` for a tool call with unreadable arguments. */
export function toMessage(completion: JsonObject, context: AnswerContext): JsonObject {
  const choice = firstOf(completion.choices)
  const message = isJsonObject(choice.message) ? choice.message : {}
  const refusal = toText(message.refusal)
  const calls = toToolUses(message.tool_calls, toText(choice.finish_reason), context)
  const text = `${toText(message.content)}${refusal}`
  const thinking = wantsThinking(context.request) ? thoughtsOf(message) : ''
  return {
    ...toMessageHead(context),
    content: [
      ...(thinking === '' ? [] : [{ type: 'thinking', thinking, signature: UNSIGNED }]),
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...calls,
    ],
    ...toStopReason(choice, { hasCalls: calls.length > 0, isRefusal: refusal !== '' }, context.request),
    usage: toMessageUsage(completion.usage),
  }
}

/** The fields of a message that do not depend on its content. */
export function toMessageHead({ model, newId }: AnswerContext) {
  return { id: newId('msg'), type: 'message', role: 'assistant', model }
}

/** Returns whether the caller requested the thinking of the model. */
export function wantsThinking({ thinking }: JsonObject): boolean {
  return isJsonObject(thinking) && thinking.type !== 'disabled' && thinking.display !== 'omitted'
}

/** Providers use two names for the text of thinking. */
export function thoughtsOf(said: JsonObject): string {
  return toText(said.reasoning) || toText(said.reasoning_content)
}

export function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function firstOf(list: unknown): JsonObject {
  const first: unknown = Array.isArray(list) ? list[0] : null
  return isJsonObject(first) ? first : {}
}

/** A call whose arguments were cut off by the length limit is left out. */
function toToolUses(list: unknown, reason: string, context: AnswerContext): JsonObject[] {
  const calls = Array.isArray(list) ? list.filter(isJsonObject) : []
  return calls.flatMap((call) => {
    const called = isJsonObject(call.function) ? call.function : {}
    const input = parseInput(toText(called.arguments))
    if (input === null && reason === 'length') return []
    if (input === null) throw new AppError('upstream_failed', 'The model called a tool with unreadable arguments')
    return [{ type: 'tool_use', id: toToolUseId(call.id, context), name: toText(called.name), input }]
  })
}

function parseInput(text: string): JsonObject | null {
  if (text.trim() === '') return {}
  try {
    const input: unknown = JSON.parse(text)
    return isJsonObject(input) ? input : null
  } catch {
    return null
  }
}

/** Anthropic accepts fewer characters in ids than some providers use. */
export function toToolUseId(id: unknown, { newId }: AnswerContext): string {
  return toText(id) === '' ? newId('toolu') : toText(id).replace(/[^A-Za-z0-9_-]/g, '_')
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  length: 'max_tokens',
  content_filter: 'refusal',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
}

/** Some providers report which stop sequence ended the answer; otherwise the turn counts as ended. */
export function toStopReason(
  { finish_reason: reason, stop_reason: matched }: JsonObject,
  { hasCalls, isRefusal }: { hasCalls: boolean; isRefusal: boolean },
  { stop_sequences: sequences }: JsonObject,
) {
  if (typeof matched === 'string' && Array.isArray(sequences) && sequences.includes(matched)) {
    return { stop_reason: 'stop_sequence', stop_sequence: matched }
  }
  const known = STOP_REASONS[toText(reason)] ?? 'end_turn'
  const ended = hasCalls ? 'tool_use' : isRefusal ? 'refusal' : 'end_turn'
  return { stop_reason: known === 'end_turn' || known === 'tool_use' ? ended : known, stop_sequence: null }
}

/** Translates usage; Anthropic counts cached tokens separately from other input. */
export function toMessageUsage(value: unknown) {
  const usage = isJsonObject(value) ? value : {}
  const details = isJsonObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
  const all = toCount(usage.prompt_tokens)
  const cached = Math.min(toCount(details.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens), all)
  const created = Math.min(toCount(details.cache_write_tokens), all - cached)
  return {
    input_tokens: all - cached - created,
    cache_creation_input_tokens: created,
    cache_read_input_tokens: cached,
    output_tokens: toCount(usage.completion_tokens),
  }
}

function toCount(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.floor(value) : 0
}

import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import { REASONING_FIELDS } from './continuity.ts'

/** A tool call of a chunk. `index` and `id` may be missing. */
export type CallDelta = { index: number | null; id: string; name: string; args: string; extra: unknown }
/** The content of one chunk of a chat completion; absent content is empty. */
type ChatDelta = {
  reasoning: string
  /** The field that the reasoning was in, if the provider wants it back. */
  reasoningField: string | null
  content: string
  refusal: string
  annotations: readonly JsonObject[]
  logprobs: readonly unknown[]
  calls: readonly CallDelta[]
  finishReason: string | null
  usage: JsonObject | null
}

/** Reads the first choice of a `chat.completion.chunk`, or of a whole `chat.completion`. */
export function readChatDelta(chunk: JsonObject): ChatDelta {
  const choices = Array.isArray(chunk.choices) ? chunk.choices.filter(isJsonObject) : []
  const choice = choices.find(({ index }) => index === undefined || index === 0) ?? {}
  const said = [choice.delta, choice.message].find(isJsonObject) ?? {}
  const field = REASONING_FIELDS.find((name) => textOf(said[name]) !== '') ?? null
  return {
    reasoning: field ? textOf(said[field]) : textOfDetails(said.reasoning_details),
    reasoningField: field,
    content: textOf(said.content),
    refusal: textOf(said.refusal),
    annotations: Array.isArray(said.annotations) ? said.annotations.flatMap(toAnnotation) : [],
    logprobs: toLogprobs(choice.logprobs),
    calls: Array.isArray(said.tool_calls) ? said.tool_calls.filter(isJsonObject).map(toCallDelta) : [],
    finishReason: typeof choice.finish_reason === 'string' ? choice.finish_reason : null,
    usage: isJsonObject(chunk.usage) ? chunk.usage : null,
  }
}

function toCallDelta({ index, id, function: called, extra_content: extra }: JsonObject, position: number): CallDelta {
  const { name, arguments: args } = isJsonObject(called) ? called : {}
  const isWhole = index === undefined && textOf(id) !== '' && textOf(name) !== ''
  return {
    index: typeof index === 'number' ? index : isWhole ? position : null,
    id: textOf(id),
    name: textOf(name),
    args: typeof args === 'string' ? args : isJsonObject(args) ? JSON.stringify(args) : '',
    extra,
  }
}

function textOfDetails(details: unknown): string {
  if (!Array.isArray(details)) return ''
  return details
    .filter(isJsonObject)
    .map(({ text, summary }) => textOf(text) || textOf(summary))
    .join('')
}

function toAnnotation(annotation: unknown): JsonObject[] {
  if (!isJsonObject(annotation) || !isJsonObject(annotation.url_citation)) return []
  return [{ type: 'url_citation', ...annotation.url_citation }]
}

function toLogprobs(logprobs: unknown): readonly unknown[] {
  return isJsonObject(logprobs) && Array.isArray(logprobs.content) ? logprobs.content : []
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

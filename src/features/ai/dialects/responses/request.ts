import { AppError } from '../../../../core/errors.ts'
import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import type { Translated } from '../dialect.ts'
import { isSealedContinuity } from './continuity.ts'
import { arrayAt, isSet, objectAt, parameterError, textAt, withoutUndefined } from './fields.ts'
import { toChatMessages } from './input-items.ts'
import { toChatTools } from './tools.ts'

/** Fields with the same name and meaning in both dialects, and those that choose the model. */
const COPIED = ['model', 'fallbacks', 'models', 'route', 'taskType', 'stream', 'temperature', 'top_p', 'user'] as const

/** Fields that this module translates. */
const TRANSLATED = [
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
] as const

/** Fields that change only price, speed, bookkeeping or the form of the answer, which is built from the caller's request. */
const HINTS = [
  'client_metadata',
  'context_management',
  // Counts calls of built-in tools, of which there are none.
  'max_tool_calls',
  'metadata',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'store',
  'stream_options',
] as const

/** Fields that may only have one of the listed values. */
const FIXED: Readonly<Record<string, readonly unknown[]>> = {
  background: [false],
  conversation: [],
  moderation: [],
  previous_response_id: [],
  prompt: [],
  truncation: ['disabled'],
}

const KNOWN: ReadonlySet<string> = new Set([...COPIED, ...TRANSLATED, ...HINTS, ...Object.keys(FIXED)])

/**
 * Translates a Responses request to Chat Completions.
 * @throws AppError `invalid` with OpenAI's code and the path of the field that cannot be expressed.
 */
export function toChatRequest(request: JsonObject): Translated {
  requireExpressible(request)
  const { fields, dropped } = toChatTools(request)
  const body = {
    ...withoutUndefined(Object.fromEntries(COPIED.map((field) => [field, request[field] ?? undefined]))),
    messages: [...toInstructions(request.instructions), ...toChatMessages(toInput(request.input), request.model)],
    ...fields,
    ...withoutUndefined({
      max_tokens: request.max_output_tokens ?? undefined,
      response_format: toResponseFormat(request.text),
      verbosity: toVerbosity(request.text),
      reasoning_effort: toEffort(request.reasoning),
    }),
    ...toLogprobs(request),
  }
  return { body, dropped }
}

function requireExpressible(request: JsonObject): void {
  for (const [field, value] of Object.entries(request)) {
    if (!KNOWN.has(field)) throw parameterError(field, 'unknown_parameter', `Unknown parameter: '${field}'.`)
    const allowed = Object.hasOwn(FIXED, field) ? FIXED[field] : undefined
    if (allowed && isSet(value) && !allowed.includes(value)) {
      throw parameterError(field, 'unsupported_parameter', `'${field}' is not available for this model.`)
    }
  }
}

function toInput(input: unknown): unknown {
  if (isSet(input)) return input
  throw parameterError('input', 'missing_required_parameter', "Missing required parameter: 'input'.")
}

function toInstructions(instructions: unknown): JsonObject[] {
  if (!isSet(instructions)) return []
  return [{ role: 'system', content: textAt(instructions, 'instructions') }]
}

function toResponseFormat(text: unknown): JsonObject | undefined {
  if (!isSet(text)) return undefined
  const { format } = objectAt(text, 'text')
  if (!isSet(format)) return undefined
  const { type, ...schema } = objectAt(format, 'text.format')
  if (type === 'text') return undefined
  if (type === 'json_object') return { type }
  if (type === 'json_schema') return { type, json_schema: withoutUndefined(schema) }
  const message = `Invalid value: '${String(type)}'. Supported values are: 'text', 'json_object', and 'json_schema'.`
  throw parameterError('text.format.type', 'invalid_value', message)
}

/** Leaves out the default, which providers without this field would refuse. */
function toVerbosity(text: unknown): unknown {
  const verbosity = isSet(text) ? objectAt(text, 'text').verbosity : undefined
  return verbosity === 'medium' ? undefined : (verbosity ?? undefined)
}

/**
 * `summary` only changes what is shown, and `context` nothing: a provider always gets all earlier reasoning that it
 * accepts.
 */
function toEffort(reasoning: unknown): unknown {
  if (!isSet(reasoning)) return undefined
  const { effort, mode } = objectAt(reasoning, 'reasoning')
  if (isSet(mode) && mode !== 'standard') {
    throw parameterError('reasoning.mode', 'unsupported_value', `'${String(mode)}' is not available for this model.`)
  }
  return effort ?? undefined
}

const LOGPROBS = 'message.output_text.logprobs'
/** Fields of built-in tools, which are never called, and fields that the caller sent itself. */
const INCLUDABLE = new Set([
  LOGPROBS,
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'file_search_call.results',
  'message.input_image.image_url',
  'reasoning.encrypted_content',
  'web_search_call.action.sources',
  'web_search_call.results',
])

function toLogprobs({ include, top_logprobs: top }: JsonObject): JsonObject {
  const included = isSet(include) ? arrayAt(include, 'include') : []
  const unknown = included.find((name) => typeof name !== 'string' || !INCLUDABLE.has(name))
  if (unknown !== undefined) {
    throw parameterError('include', 'invalid_value', `Invalid value: '${String(unknown)}' in 'include'.`)
  }
  const isAsked = included.includes(LOGPROBS) || (isSet(top) && top !== 0)
  if (!isAsked) return {}
  return { logprobs: true, ...(isSet(top) && { top_logprobs: top }) }
}

/** @throws AppError `invalid` for a request that only the provider's own storage could answer. */
export function requireOwnState(request: JsonObject): void {
  const fields = ['background', 'conversation', 'prompt'] as const
  const used = fields.find((field) => isSet(request[field]) && request[field] !== false)
  if (used === undefined) return
  throw new AppError('invalid', `'${used}' is not available.`, { code: 'unsupported_parameter', param: used })
}

/** Leaves out reasoning of other providers, which a provider of Responses cannot decrypt. */
export function toOwnRequest(request: JsonObject): JsonObject {
  const { input } = request
  if (!Array.isArray(input) || !input.some(isForeign)) return request
  return { ...request, input: input.filter((item) => !isForeign(item)) }
}

function isForeign(item: unknown): boolean {
  return isJsonObject(item) && item.type === 'reasoning' && isSealedContinuity(item.encrypted_content)
}

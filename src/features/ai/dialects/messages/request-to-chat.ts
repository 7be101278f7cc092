import type { JsonObject } from '../../../../core/json/json-object.ts'
import type { Translated } from '../dialect.ts'
import { messagesToChat } from './messages-to-chat.ts'
import { invalidField, readList, readObject, requireKnownFields } from './read-fields.ts'
import { toolsToChat } from './tools-to-chat.ts'

/** Fields with the same meaning in Chat Completions, and our own. */
const SAME_FIELDS = [
  ...['model', 'max_tokens', 'stream', 'temperature', 'top_p'],
  ...['fallbacks', 'models', 'route', 'taskType'],
]
const TRANSLATED_FIELDS = [
  ...['system', 'messages', 'tools', 'tool_choice', 'stop_sequences', 'output_config', 'output_format'],
]
/**
 * Fields that only change price, speed or bookkeeping. `thinking` is one, because other models set their own thinking
 * and take no budget.
 */
const HINT_FIELDS = [
  ...['cache_control', 'metadata', 'service_tier', 'context_management', 'thinking'],
  ...['diagnostics', 'speed', 'user_profile_id', 'workspace_id'],
]
const KNOWN_FIELDS = [...SAME_FIELDS, ...TRANSLATED_FIELDS, ...HINT_FIELDS]
/** `effort` is a hint too. */
const OUTPUT_FIELDS = ['effort', 'format']
const MAX_STOP_SEQUENCES = 4

/** Translates a Messages request. @throws AppError `invalid` for what Chat Completions cannot express. */
export function requestToChat(request: JsonObject): Translated {
  requireKnownFields(request, KNOWN_FIELDS, '')
  const same = SAME_FIELDS.flatMap((field) => (request[field] == null ? [] : [[field, request[field]] as const]))
  const tools = toolsToChat(request)
  return {
    body: {
      ...Object.fromEntries(same),
      messages: messagesToChat(request),
      ...tools.body,
      ...toStop(request.stop_sequences),
      ...toResponseFormat(request),
    },
    dropped: tools.dropped,
  }
}

function toStop(value: unknown): JsonObject {
  if (value === undefined || value === null) return {}
  const stop = readList(value, 'stop_sequences')
  if (stop.length > MAX_STOP_SEQUENCES) {
    throw invalidField('stop_sequences', `This model takes at most ${MAX_STOP_SEQUENCES} stop sequences`)
  }
  return stop.length === 0 ? {} : { stop }
}

function toResponseFormat({ output_config: config, output_format: early }: JsonObject): JsonObject {
  const output = config == null ? {} : readObject(config, 'output_config')
  requireKnownFields(output, OUTPUT_FIELDS, 'output_config')
  const format = output.format ?? early
  if (format === undefined || format === null) return {}
  const { type, schema } = readObject(format, 'output_config.format')
  if (type !== 'json_schema') throw invalidField('output_config.format.type', "Input should be 'json_schema'")
  return { response_format: { type, json_schema: { name: 'output', strict: true, schema } } }
}

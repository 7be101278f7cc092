import type { JsonObject } from '../../../core/json/json-object.ts'

/** Replaces one text. */
type Rewrite = (text: string) => string

/** Parts of requests and answers that contain text, in every dialect. */
const REQUEST_PARTS = ['system', 'instructions', 'messages', 'input', 'prompt'] as const
const ANSWER_PARTS = ['choices', 'content', 'output'] as const
/** Fields whose strings people and models wrote. Others are names, types, ids and binary data. */
const TEXT_FIELDS: ReadonlySet<string> = new Set([
  ...REQUEST_PARTS,
  ...['content', 'text', 'arguments', 'output', 'refusal', 'reasoning', 'reasoning_content'],
])
/** Signed by the vendor, which refuses changed ones: checked where they come from, not when they are sent back. */
const ANSWER_FIELDS: ReadonlySet<string> = new Set([...TEXT_FIELDS, 'thinking'])

/** Returns a request in any dialect with its texts replaced: messages, system prompts, tool arguments and results. */
export function mapRequestTexts(body: JsonObject, rewrite: Rewrite): JsonObject {
  return mapParts(body, REQUEST_PARTS, TEXT_FIELDS, rewrite)
}

/** Returns an answer in any dialect with its texts replaced. */
export function mapAnswerTexts(body: JsonObject, rewrite: Rewrite): JsonObject {
  return mapParts(body, ANSWER_PARTS, ANSWER_FIELDS, rewrite)
}

/** Returns a stream event of Responses that repeats text which was streamed before, with its texts replaced. */
export function mapEventTexts(event: JsonObject, rewrite: Rewrite): JsonObject {
  const { response } = event
  const changed = mapParts(event, ['text', 'arguments', 'refusal', 'part', 'item'], ANSWER_FIELDS, rewrite)
  if (typeof response !== 'object' || response === null) return changed
  // The response repeats the instructions of the request, which are no output.
  return { ...changed, response: mapParts({ ...response }, ['output'], ANSWER_FIELDS, rewrite) }
}

function mapParts(body: JsonObject, parts: readonly string[], fields: ReadonlySet<string>, rewrite: Rewrite) {
  const changed: Record<string, unknown> = { ...body }
  for (const part of parts) {
    if (body[part] !== undefined) changed[part] = mapValue(body[part], fields.has(part), fields, rewrite)
  }
  return changed
}

function mapValue(value: unknown, isText: boolean, fields: ReadonlySet<string>, rewrite: Rewrite): unknown {
  if (typeof value === 'string') return isText ? rewrite(value) : value
  if (Array.isArray(value)) return value.map((item) => mapValue(item, isText, fields, rewrite))
  if (typeof value !== 'object' || value === null) return value
  const isToolUse = 'type' in value && value.type === 'tool_use'
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      isToolUse && name === 'input' ? mapAll(inner, rewrite) : mapValue(inner, fields.has(name), fields, rewrite),
    ]),
  )
}

/** Replaces every string, as the fields of a tool's input may have any name. */
function mapAll(value: unknown, rewrite: Rewrite): unknown {
  if (typeof value === 'string') return rewrite(value)
  if (Array.isArray(value)) return value.map((item) => mapAll(item, rewrite))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapAll(inner, rewrite)]))
}

import type { JsonObject } from '../../../core/json/json-object.ts'

/**
 * A piece of streamed text. Pieces with the same `lane` add up to one text, which belongs to the choice, block or item
 * `group`. `withText` returns an event that contains only this piece, with another text.
 */
export type Delta = { lane: string; group: string; text: string; withText(text: string): JsonObject }

const CHAT_FIELDS = ['content', 'refusal', 'reasoning', 'reasoning_content'] as const
const BLOCK_FIELDS = ['text', 'thinking', 'partial_json'] as const

/** Lists the texts of a stream event in any dialect. */
export function listDeltas(event: JsonObject): Delta[] {
  if (Array.isArray(event.choices)) return event.choices.flatMap((choice) => listOfChoice(event, toObject(choice)))
  if (event.type === 'content_block_delta') return listOfBlock(event, toObject(event.delta))
  if (typeof event.type !== 'string' || typeof event.delta !== 'string') return []
  if (!event.type.endsWith('.delta') || /\.(?:audio|image)/.test(event.type)) return []
  const group = String(event.item_id ?? '')
  const part = String(event.content_index ?? event.summary_index ?? '')
  const lane = `${group} ${event.type} ${part}`
  return [{ lane, group, text: event.delta, withText: (delta) => ({ ...event, delta }) }]
}

function listOfChoice(event: JsonObject, choice: JsonObject): Delta[] {
  const delta = toObject(choice.delta)
  const group = String(choice.index ?? 0)
  const withDelta = (changed: JsonObject): JsonObject => {
    const { usage: _, ...rest } = event
    return { ...rest, choices: [{ index: choice.index ?? 0, delta: changed, finish_reason: null }] }
  }
  const ofFields = CHAT_FIELDS.flatMap((field): Delta[] => {
    const text = delta[field]
    if (typeof text !== 'string') return []
    return [{ lane: `${group} ${field}`, group, text, withText: (changed) => withDelta({ [field]: changed }) }]
  })
  const calls = Array.isArray(delta.tool_calls) ? delta.tool_calls.map(toObject) : []
  const ofCalls = calls.flatMap((call): Delta[] => {
    const text = toObject(call.function).arguments
    if (typeof text !== 'string') return []
    const index = call.index ?? 0
    const withText = (changed: string) => withDelta({ tool_calls: [{ index, function: { arguments: changed } }] })
    return [{ lane: `${group} tool ${String(index)}`, group, text, withText }]
  })
  return [...ofFields, ...ofCalls]
}

function listOfBlock(event: JsonObject, delta: JsonObject): Delta[] {
  const group = String(event.index ?? 0)
  return BLOCK_FIELDS.flatMap((field) => {
    const text = delta[field]
    if (typeof text !== 'string') return []
    const withText = (changed: string) => ({ ...event, delta: { ...delta, [field]: changed } })
    return [{ lane: `${group} ${field}`, group, text, withText }]
  })
}

/** Returns an event with the texts of its deltas, in the order of `listDeltas`. */
export function replaceDeltas(event: JsonObject, texts: readonly string[]): JsonObject {
  const rest = texts.values()
  const next = (text: unknown) => (typeof text === 'string' ? (rest.next().value ?? text) : text)
  if (Array.isArray(event.choices)) {
    return { ...event, choices: event.choices.map((choice) => replaceInChoice(toObject(choice), next)) }
  }
  if (event.type !== 'content_block_delta') return { ...event, delta: next(event.delta) }
  const delta: Record<string, unknown> = { ...toObject(event.delta) }
  for (const field of BLOCK_FIELDS) if (field in delta) delta[field] = next(delta[field])
  return { ...event, delta }
}

function replaceInChoice(choice: JsonObject, next: (text: unknown) => unknown): JsonObject {
  const delta: Record<string, unknown> = { ...toObject(choice.delta) }
  for (const field of CHAT_FIELDS) if (field in delta) delta[field] = next(delta[field])
  // OpenRouter repeats the reasoning there.
  if (typeof delta.reasoning === 'string') delete delta.reasoning_details
  if (Array.isArray(delta.tool_calls)) {
    delta.tool_calls = delta.tool_calls.map(toObject).map((call) => {
      const called = toObject(call.function)
      return 'arguments' in called ? { ...call, function: { ...called, arguments: next(called.arguments) } } : call
    })
  }
  return { ...choice, delta }
}

/** Returns whether the event ends the texts of a group. */
export function endsGroup(event: JsonObject, group: string): boolean {
  if (Array.isArray(event.choices)) {
    const choice = event.choices.map(toObject).find(({ index }) => String(index ?? 0) === group)
    return choice?.finish_reason != null
  }
  if (event.type === 'content_block_stop') return String(event.index ?? 0) === group
  if (event.type === 'message_delta' || event.type === 'message_stop') return true
  if (typeof event.type !== 'string') return false
  if (event.type.endsWith('.done')) return event.item_id === group || toObject(event.item).id === group
  return ['response.completed', 'response.incomplete', 'response.failed'].includes(event.type)
}

function toObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

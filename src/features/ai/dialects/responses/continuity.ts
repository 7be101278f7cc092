import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'

/**
 * The fields that a chat provider requires in the next request: the reasoning of its message and the extra content of its
 * tool calls, such as Gemini's thought signatures. Clients keep it as the encrypted content of a reasoning item.
 */
type Continuity = {
  /** The requested model; other models do not get these fields. */
  model: unknown
  /** Fields of the assistant message. */
  message?: JsonObject
  /** Extra content of a tool call, by its id. */
  calls?: JsonObject
}

const PREFIX = 'stead1.'

/** Fields of a chat message in which providers send reasoning as text. */
export const REASONING_FIELDS = ['reasoning_content', 'reasoning'] as const

export function sealContinuity(continuity: Continuity): string {
  return `${PREFIX}${Buffer.from(JSON.stringify(continuity)).toString('base64url')}`
}

/** Returns whether the encrypted content of a reasoning item is from `sealContinuity`. */
export function isSealedContinuity(content: unknown): content is string {
  return typeof content === 'string' && content.startsWith(PREFIX)
}

/** Returns null for other encrypted content, and for that of another model. */
export function openContinuity(content: unknown, model: unknown): Continuity | null {
  if (!isSealedContinuity(content)) return null
  const opened = parse(Buffer.from(content.slice(PREFIX.length), 'base64url').toString())
  if (!isJsonObject(opened) || opened.model !== model) return null
  const { message, calls } = opened
  return { model, ...(isJsonObject(message) && { message: textsOf(message) }), ...(isJsonObject(calls) && { calls }) }
}

/** Clients could have changed the content, so only the known fields are taken. */
function textsOf(message: JsonObject): JsonObject {
  const known = REASONING_FIELDS.filter((field) => typeof message[field] === 'string')
  return Object.fromEntries(known.map((field) => [field, message[field]]))
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

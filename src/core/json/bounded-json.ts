import { z } from 'zod'

/** Maximum number of values in foreign JSON; more would block the event loop. */
const MAX_VALUES = 30_000
/** Deeper nesting exceeds recursion limits, such as the 1,000 levels of SQLite. */
const MAX_DEPTH = 500
const PIECE_BYTES = 64 * 1024

/**
 * Parses foreign JSON.
 * @throws SyntaxError for invalid JSON, and, before parsing, for more than `maxValues` values or 500 levels.
 */
export function parseBoundedJson(text: string, maxValues = MAX_VALUES): unknown {
  if (text.length > MAX_DEPTH) requireBounds(Buffer.from(text), maxValues)
  return JSON.parse(text)
}

/** Returns whether the JSON exceeds `maxValues` values or 500 levels. */
export function isTooMuch({ values, depth }: JsonMeasure, maxValues = MAX_VALUES): boolean {
  return values > maxValues || depth > MAX_DEPTH
}

/** Stops at the first excess. */
function requireBounds(text: Uint8Array, maxValues: number): void {
  const measure = createJsonMeter()
  for (let from = 0; from < text.length; from += PIECE_BYTES) {
    if (isTooMuch(measure(text.subarray(from, from + PIECE_BYTES)), maxValues)) {
      throw new SyntaxError(`The text has more than ${maxValues} values, or more than ${MAX_DEPTH} in each other`)
    }
  }
}

const [QUOTE, COMMA, BACKSLASH, BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x22, 0x2c, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d]
const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d]

/** Approximate number of values and maximum depth of the JSON read so far. */
export type JsonMeasure = { values: number; depth: number }

/**
 * Measures JSON in UTF-8 chunk by chunk before it is parsed; commas and opening brackets outside of strings approximate
 * the number of values. Line breaks end strings, so an unmatched quote between the events of a stream cannot hide what
 * follows.
 */
export function createJsonMeter(): (piece: Uint8Array) => JsonMeasure {
  const measure = { values: 0, depth: 0 }
  let depth = 0
  let isInString = false
  let isEscaped = false
  return (piece) => {
    // An index loop is the fastest way through megabytes.
    for (let index = 0; index < piece.length; index++) {
      const code = piece[index]
      if (isInString) {
        if (code === LINE_FEED || code === CARRIAGE_RETURN) isInString = isEscaped = false
        else if (isEscaped) isEscaped = false
        else if (code === BACKSLASH) isEscaped = true
        else if (code === QUOTE) isInString = false
      } else if (code === QUOTE) isInString = true
      else if (code === COMMA) measure.values++
      else if (code === BRACE || code === BRACKET) {
        measure.values++
        measure.depth = Math.max(measure.depth, ++depth)
      } else if (code === BRACE_END || code === BRACKET_END) depth--
    }
    return measure
  }
}

const MAX_CHARACTERS = 64_000

/**
 * A JSON object as canonical text: without spaces, each key once. A text with a duplicate key could be shown with one
 * value and executed with the other.
 */
export const JsonObjectText = z
  .string('arguments must be the JSON text of an object')
  .max(MAX_CHARACTERS, `arguments have at most ${MAX_CHARACTERS} characters`)
  .transform((text, context) => {
    const canonical = toCanonicalObject(text)
    if (canonical === null) context.addIssue('arguments must be the JSON text of an object')
    return canonical ?? z.NEVER
  })

/** Returns null for a text that is no object or is nested too deeply to serialize. */
function toCanonicalObject(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? JSON.stringify(value) : null
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return null
    throw error
  }
}

import { createJsonMeter, type JsonMeasure } from './json-meter.ts'

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

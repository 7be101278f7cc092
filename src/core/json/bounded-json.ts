import { createJsonMeter, type JsonMeasure } from './json-meter.ts'

/** Values of JSON in what somebody else says: reading more of them would hold everybody up. */
const MAX_VALUES = 30_000
/** Deeper texts break what walks through them, such as the functions of SQLite, which take a thousand. */
const MAX_DEPTH = 500
const PIECE_BYTES = 64 * 1024

/**
 * Reads JSON of somebody else. @throws SyntaxError for what is none, and for one of more than `maxValues` values or with 500
 * in each other, before anything is made of it.
 */
export function parseBoundedJson(text: string, maxValues = MAX_VALUES): unknown {
  if (text.length > MAX_DEPTH) requireBounds(Buffer.from(text), maxValues)
  return JSON.parse(text)
}

/** Has JSON more than `maxValues` values, or 500 in each other? */
export function isTooMuch({ values, depth }: JsonMeasure, maxValues = MAX_VALUES): boolean {
  return values > maxValues || depth > MAX_DEPTH
}

/** Of a text that says too much no more is looked at. */
function requireBounds(text: Uint8Array, maxValues: number): void {
  const measure = createJsonMeter()
  for (let from = 0; from < text.length; from += PIECE_BYTES) {
    if (isTooMuch(measure(text.subarray(from, from + PIECE_BYTES)), maxValues)) {
      throw new SyntaxError(`The text has more than ${maxValues} values, or more than ${MAX_DEPTH} in each other`)
    }
  }
}

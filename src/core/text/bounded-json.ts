import { createJsonMeter } from './json-meter.ts'

/** Values of JSON in what somebody else says: reading more of them would hold everybody up. */
const MAX_VALUES = 30_000
/** Deeper texts break what walks through them, such as the functions of SQLite, which take a thousand. */
const MAX_DEPTH = 500

/**
 * Reads JSON of somebody else. @throws SyntaxError for what is none, and for one of more than `maxValues` values or with 500
 * in each other, before anything is made of it.
 */
export function parseBoundedJson(text: string, maxValues = MAX_VALUES): unknown {
  if (text.length > MAX_DEPTH) {
    const { values, depth } = createJsonMeter()(Buffer.from(text))
    if (values > maxValues) throw new SyntaxError(`The text has more than ${maxValues} values`)
    if (depth > MAX_DEPTH) throw new SyntaxError(`The text has more than ${MAX_DEPTH} values in each other`)
  }
  return JSON.parse(text)
}

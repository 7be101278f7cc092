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

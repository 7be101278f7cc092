import { z } from 'zod'

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

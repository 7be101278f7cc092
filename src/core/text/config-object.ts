import { closest } from 'fastest-levenshtein'
import { z } from 'zod'
import { findNearName } from './near-name.ts'

/**
 * Builds the schema of a `config` object. Owners type its fields by hand, so an unknown one is an error that names the
 * nearest known field; everywhere else in a body unknown fields are dropped.
 */
export function configObject<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape)
  return z.strictObject(shape, {
    error: ({ code, keys }) =>
      code === 'unrecognized_keys' ? keys?.map((key) => describeUnknown(key, known)).join(' ') : undefined,
  })
}

function describeUnknown(name: string, known: readonly string[]): string {
  const near = findNearName(name, known)
  if (near !== null) return `Unknown setting ${name}. Did you mean ${near}?`
  return `Unknown setting ${name}. The nearest is ${closest(name, known)}; known: ${known.join(', ')}.`
}

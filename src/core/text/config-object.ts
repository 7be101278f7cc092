import { closest } from 'fastest-levenshtein'
import { z } from 'zod'
import { findNearName } from './names.ts'

const MAX_DESCRIBED = 10

/**
 * Builds the strict schema of a `config` object. Owners type its fields by hand, so an unknown field is an error that
 * names the nearest known one.
 */
export function configObject<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape)
  return z.strictObject(shape, {
    error: ({ code, keys }) => (code === 'unrecognized_keys' && keys ? describeUnknown(keys, known) : undefined),
  })
}

/** Describes the first unknown names only: a request can hold thousands, and each is compared with every known name. */
function describeUnknown(names: readonly string[], known: readonly string[]): string {
  const rest = names.length - MAX_DESCRIBED
  const described = names.slice(0, MAX_DESCRIBED).map((name) => describeName(name, known))
  return [...described, ...(rest > 0 ? [`${rest} more settings are unknown.`] : [])].join(' ')
}

function describeName(name: string, known: readonly string[]): string {
  const near = findNearName(name, known)
  if (near !== null) return `Unknown setting ${name}. Did you mean ${near}?`
  return `Unknown setting ${name}. The nearest is ${closest(name, known)}; known: ${known.join(', ')}.`
}

import { distance } from 'fastest-levenshtein'

/** Names of at least this length may differ by two edits. */
const LONG_NAME_CHARACTERS = 14

/**
 * Returns the known name that differs from `given` by a typing error: a missing, extra, wrong or transposed letter.
 * Null without one.
 */
export function findNearName(given: string, known: readonly string[]): string | null {
  const [nearest] = known
    .map((name) => ({ name, steps: distance(given, name) }))
    .filter(({ name, steps }) => steps <= toMostSteps(given, name))
    .sort((a, b) => a.steps - b.steps)
  return nearest?.name ?? null
}

function toMostSteps(given: string, name: string): number {
  return name.length >= LONG_NAME_CHARACTERS || hasSameLetters(given, name) ? 2 : 1
}

function hasSameLetters(one: string, other: string): boolean {
  return one.length === other.length && toSorted(one) === toSorted(other)
}

function toSorted(text: string): string {
  return [...text].sort().join('')
}

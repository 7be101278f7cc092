import { distance } from 'fastest-levenshtein'

/** Names of at least so many characters may differ in two of them. */
const LONG_NAME_CHARACTERS = 14

/**
 * The name among `known` that a slip of the fingers turns into `given`: one letter too many, too few or wrong, or two that
 * changed places. Null without one.
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

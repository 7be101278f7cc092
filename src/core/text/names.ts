import { distance } from 'fastest-levenshtein'
import { z } from 'zod'

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

/** HFS+ ignores these characters in names. */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu
/**
 * Some file systems ignore case, trailing dots and spaces, have short names, or treat text after a colon as a stream.
 */
const GIT_NAME = /^(?:\.git|git~[0-9]+)[ .]*(?::.*)?$/isu

/** Returns whether any file system could treat the name as `.git`. */
export function isGitName(name: string): boolean {
  return GIT_NAME.test(name.replace(IGNORED_BY_HFS, ''))
}

const WEB = /^https?$/

/** An http or https URL from a caller; checks the length first, because parsing a megabyte takes seconds. */
export function webUrl(error: string, { max = 2000, tooLong = error }: { max?: number; tooLong?: string } = {}) {
  return z.string(error).max(max, { error: tooLong, abort: true }).url({ protocol: WEB, error })
}

/** `registry:5000/path/name:tag@sha256:…`; everything but the name is optional. */
export const ImageReference = z
  .string('image must be text')
  .max(255, 'image is too long')
  .regex(
    /^(?:[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]+)?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/,
    'Invalid docker image value',
  )

const HUB = 'docker.io'

/**
 * Returns the canonical repository without tag and digest. As in container engines, the first part is a registry only
 * if it looks like a host; all other names are on Docker Hub.
 */
export function toRepository(reference: string): string {
  const name = withoutVersion(reference)
  const [first = '', ...rest] = name.split('/')
  const isRegistry = rest.length > 0 && (/[.:A-Z]/.test(first) || first === 'localhost')
  const [registry, path] = isRegistry ? [first, rest.join('/')] : [HUB, name]
  if (registry !== HUB && registry !== `index.${HUB}`) return `${registry}/${path}`
  return `${HUB}/${path.includes('/') ? path : `library/${path}`}`
}

/** Returns whether the reference has a tag or a digest. */
export function hasVersion(reference: string): boolean {
  return withoutVersion(reference) !== reference
}

/** A colon before the last slash is part of the port. */
function withoutVersion(reference: string): string {
  const [name = ''] = reference.split('@')
  const colon = name.lastIndexOf(':')
  return colon > name.lastIndexOf('/') ? name.slice(0, colon) : name
}

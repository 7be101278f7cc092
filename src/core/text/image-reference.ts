import { z } from 'zod'

/** `registry:5000/path/name:tag@sha256:…`, any part of it but the name left out. */
export const ImageReference = z
  .string('image must be text')
  .max(255, 'image is too long')
  .regex(
    /^(?:[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]+)?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/,
    'Invalid docker image value',
  )

const HUB = 'docker.io'

/**
 * Where engines look for an image, its tag and digest left out: names that lead to the same place are the same text. As
 * engines read them, the first part is a registry only when it looks like one, and everything else is of Docker Hub.
 */
export function toRepository(reference: string): string {
  const name = withoutVersion(reference)
  const [first = '', ...rest] = name.split('/')
  const isRegistry = rest.length > 0 && (/[.:A-Z]/.test(first) || first === 'localhost')
  const [registry, path] = isRegistry ? [first, rest.join('/')] : [HUB, name]
  if (registry !== HUB && registry !== `index.${HUB}`) return `${registry}/${path}`
  return `${HUB}/${path.includes('/') ? path : `library/${path}`}`
}

/** Does the reference name a tag or a digest? */
export function hasVersion(reference: string): boolean {
  return withoutVersion(reference) !== reference
}

/** A colon before the last slash belongs to a port. */
function withoutVersion(reference: string): string {
  const [name = ''] = reference.split('@')
  const colon = name.lastIndexOf(':')
  return colon > name.lastIndexOf('/') ? name.slice(0, colon) : name
}

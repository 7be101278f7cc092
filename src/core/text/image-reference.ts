import { z } from 'zod'

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

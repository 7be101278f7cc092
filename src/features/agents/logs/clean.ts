import { redact } from '../../../core/log.ts'

/** Longer lines are cut. */
export const MAX_LINE_LENGTH = 8192
/** A shorter value would mask words that are no secret. */
const MIN_SECRET_LENGTH = 8

/** A line as it may be stored and shown: none of `secrets`, nothing that looks like a token, no NUL, and not too long. */
export function createLineCleaner(secrets: readonly string[]): (text: string) => string {
  // The longest first: one secret may hold another.
  const masked = secrets
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
    .sort((one, other) => other.length - one.length)
  return (text) => {
    const unknown = masked.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text)
    const safe = redact(unknown).replaceAll('\0', '\uFFFD')
    if (safe.length <= MAX_LINE_LENGTH) return safe
    return `${safe.slice(0, MAX_LINE_LENGTH)} [${safe.length - MAX_LINE_LENGTH} characters more]`
  }
}

import { redact } from '../../../core/log.ts'

/** Characters stored of a body. */
const MAX_STORED = 64 * 1024
/** A secret that begins before the end of the stored text is found whole. */
const READ_BEYOND = 4096
/** Characters searched for embedded files. */
const MAX_READ = 1024 * 1024
/** An embedded file in base64. The lookbehind tries each run of characters once. */
const EMBEDDED = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{1024,}={0,2}/g

/** Returns a body without embedded files and secrets, at most 64 KiB. */
export function toStoredBody(body: string): string {
  const text = body.slice(0, MAX_READ).replace(EMBEDDED, (file) => `[${file.length} characters]`)
  const stored = redact(text.slice(0, MAX_STORED + READ_BEYOND)).slice(0, MAX_STORED)
  const isWhole = body.length <= MAX_READ && text.length <= MAX_STORED
  return isWhole ? stored : `${stored}…`
}

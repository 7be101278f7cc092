import { redact } from '../../../core/log.ts'
import { PERSONAL_DATA } from './personal-data.ts'
import { cleanText, compileTextRules } from './scan.ts'

/** Characters stored of a body. */
const MAX_STORED = 64 * 1024
/** A secret that begins before the end of the stored text is found whole. */
const READ_BEYOND = 4096
/** Characters searched for embedded files. */
const MAX_READ = 1024 * 1024
/** An embedded file in base64. The lookbehind tries each run of characters once. */
const EMBEDDED = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{1024,}={0,2}/g
const RULES = compileTextRules({ deny: [], redact: PERSONAL_DATA.map(({ kind }) => kind) })

/** Returns a body without embedded files, keys and personal data, at most 64 KiB. */
export function toStoredBody(body: string): string {
  const text = body.slice(0, MAX_READ).replace(EMBEDDED, (file) => `[${file.length} characters]`)
  const clean = cleanText(RULES, redact(text.slice(0, MAX_STORED + READ_BEYOND))).text
  const isWhole = body.length <= MAX_READ && text.length <= MAX_STORED
  return isWhole ? clean : `${clean.slice(0, MAX_STORED)}…`
}

/** The match needs more text to be decided. */
export const UNDECIDED = -1
/** No match starts here. */
export const NO_MATCH = 0

/**
 * Returns the end of the match that starts at `start`, `NO_MATCH`, or `UNDECIDED` when the text may continue (`isEnd` is
 * false) and the rest decides. Looks at most one character back, and only a bounded number ahead.
 */
export type MatchAt = (text: string, start: number, isEnd: boolean) => number

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

export function isUpper(code: number): boolean {
  return code >= 65 && code <= 90
}

function isAsciiLetter(code: number): boolean {
  return isUpper(code) || (code >= 97 && code <= 122)
}

export function isAlphanumeric(code: number): boolean {
  return isDigit(code) || isAsciiLetter(code)
}

/** Returns whether the character continues a word: a letter or digit of any script, or an underscore. */
export function isWordCode(code: number): boolean {
  if (code < 128) return isAlphanumeric(code) || code === 95
  return /[\p{L}\p{N}\p{M}]/u.test(String.fromCharCode(code)) || (code >= 0xd800 && code <= 0xdfff)
}

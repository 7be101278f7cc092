import { isWordCode, type MatchAt, NO_MATCH, UNDECIDED } from './matcher.ts'

/** The most characters that a `*` and a space of a pattern match. */
const MAX_STAR = 64
const MAX_SPACES = 8

/**
 * A pattern: parts with a `*` between them. Patterns match whole words and ignore case; a `*` matches the rest of a word,
 * so one at the edge lifts the requirement of a whole word there. A space matches any white space.
 */
type DenyPattern = { text: string; parts: string[]; isOpenLeft: boolean; isOpenRight: boolean }

/** Finds the denied pattern that matches at a position. */
export type DenyList = {
  isEmpty: boolean
  /** Returns the pattern that matches at `start` of a folded text, null, or `UNDECIDED`. */
  matchAt(folded: string, start: number, isEnd: boolean): string | null | typeof UNDECIDED
}

/** Compiles patterns, grouped by their first character so that each position of a text tries few of them. */
export function compileDenyList(patterns: readonly string[]): DenyList {
  const byStart = Map.groupBy(patterns.map(compile), ({ parts }) => parts[0]?.charCodeAt(0) ?? 0)
  return {
    isEmpty: patterns.length === 0,
    matchAt(folded, start, isEnd) {
      const candidates = byStart.get(folded.charCodeAt(start))
      if (!candidates) return null
      let isUndecided = false
      for (const pattern of candidates) {
        const end = matchPattern(pattern, folded, start, isEnd)
        if (end > 0) return pattern.text
        isUndecided ||= end === UNDECIDED
      }
      return isUndecided ? UNDECIDED : null
    },
  }
}

function compile(text: string): DenyPattern {
  const folded = foldCase(text.trim()).replaceAll(/\s+/g, ' ')
  const isOpenLeft = folded.startsWith('*')
  const isOpenRight = folded.endsWith('*')
  const parts = folded.split('*').filter((part) => part !== '')
  // White space at the edge of a pattern such as `* word` would need a start that is no word.
  return {
    text,
    parts: parts.map((part, index) => (index === 0 ? part.trimStart() : part)).filter(Boolean),
    isOpenLeft,
    isOpenRight,
  }
}

/** Lower-cases each character by itself, so that positions stay the same and a text folds as its parts do. */
export function foldCase(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase()
  let folded = ''
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index)
    const lower = character.toLowerCase()
    folded += lower.length === 1 ? lower : character
  }
  return folded
}

function matchPattern({ parts, isOpenLeft, isOpenRight }: DenyPattern, folded: string, start: number, isEnd: boolean) {
  const isInWord = start > 0 && isWordCode(folded.charCodeAt(start)) && isWordCode(folded.charCodeAt(start - 1))
  if (!isOpenLeft && isInWord) return NO_MATCH
  const toEnd = isOpenRight ? anywhere : endOfWord
  let at = start
  for (const [index, part] of parts.entries()) {
    const toNext = index === parts.length - 1 ? toEnd : anywhere
    at = index === 0 ? matchPart(part, folded, at, isEnd, toNext) : findPart(part, folded, at, isEnd, toNext)
    if (at <= 0) return at
  }
  return at
}

const anywhere: MatchAt = (_text, at) => at

/** Returns `at` when no word continues there. */
const endOfWord: MatchAt = (folded, at, isEnd) => {
  if (!isWordCode(folded.charCodeAt(at - 1))) return at
  if (at === folded.length) return isEnd ? at : UNDECIDED
  return isWordCode(folded.charCodeAt(at)) ? NO_MATCH : at
}

/** Matches a part exactly, except that a space matches any white space, and requires the parts after it. */
function matchPart(part: string, folded: string, start: number, isEnd: boolean, toNext: MatchAt): number {
  let at = start
  for (let index = 0; index < part.length; index++) {
    const wanted = part.charCodeAt(index)
    if (at === folded.length) return isEnd ? NO_MATCH : UNDECIDED
    if (wanted !== 32) {
      if (folded.charCodeAt(at) !== wanted) return NO_MATCH
      at += 1
      continue
    }
    const from = at
    while (at - from < MAX_SPACES && isSpace(folded.charCodeAt(at))) at += 1
    if (at === from) return NO_MATCH
    if (at === folded.length && !isEnd) return UNDECIDED
  }
  return toNext(folded, at, isEnd)
}

/** Finds a part after a `*`, which matches characters of one word only, so the first occurrence suffices for the parts after it. */
function findPart(part: string, folded: string, start: number, isEnd: boolean, toNext: MatchAt): number {
  for (let at = start; at - start <= MAX_STAR; at++) {
    const end = matchPart(part, folded, at, isEnd, toNext)
    if (end !== NO_MATCH) return end
    if (!isWordCode(folded.charCodeAt(at))) return NO_MATCH
  }
  return NO_MATCH
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0
}

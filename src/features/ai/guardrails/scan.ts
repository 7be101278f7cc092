import type { Guardrails } from '../../accounts/guardrails/schemas.ts'
import { compileDenyList, type DenyList, foldCase } from './deny-patterns.ts'
import { isWordCode, type MatchAt, UNDECIDED } from './matcher.ts'
import { PERSONAL_DATA } from './personal-data.ts'

/** Compiled patterns and redactions. */
export type TextRules = { deny: DenyList; redact: readonly { mark: string; matchAt: MatchAt }[] }

export function compileTextRules({ deny, redact }: Pick<Guardrails, 'deny' | 'redact'>): TextRules {
  return { deny: compileDenyList(deny), redact: PERSONAL_DATA.filter(({ kind }) => redact.includes(kind)) }
}

/** The text with replacements up to `end`, where the first undecided match starts, or the denied pattern that was found. */
type Scanned = { text: string; end: number; denied: string | null }

/**
 * Checks `text` from `from` on in one pass; the character before `from` is context. Unless `isEnd`, stops where more text
 * could complete a match, so that the results of chunks add up to that of the whole text.
 */
function scan({ deny, redact }: TextRules, text: string, from: number, isEnd: boolean): Scanned {
  const folded = deny.isEmpty ? '' : foldCase(text)
  let clean = ''
  let copied = from
  // The match that is replaced when the scan leaves it: a pattern may be denied inside it.
  let match: { start: number; end: number; mark: string } | null = null
  for (let at = from; at < text.length; at++) {
    if (match && at >= match.end) {
      clean += text.slice(copied, match.start) + match.mark
      copied = match.end
      match = null
    }
    if (!deny.isEmpty) {
      const denied = deny.matchAt(folded, at, isEnd)
      if (denied === UNDECIDED) return upTo(match?.start ?? at)
      if (denied !== null) return { ...upTo(match?.start ?? at), denied }
    }
    if (match || (at > 0 && isWordCode(text.charCodeAt(at - 1)))) continue
    for (const { mark, matchAt } of redact) {
      const end = matchAt(text, at, isEnd)
      if (end === UNDECIDED) return upTo(at)
      if (end > at) {
        match = { start: at, end, mark }
        break
      }
    }
  }
  if (match === null) return upTo(text.length)
  return { text: clean + text.slice(copied, match.start) + match.mark, end: match.end, denied: null }

  function upTo(end: number): Scanned {
    return { text: clean + text.slice(copied, end), end, denied: null }
  }
}

/** Returns a whole text with its replacements, or the denied pattern in it. */
export function cleanText(rules: TextRules, text: string): { text: string; denied: string | null } {
  const { text: clean, denied } = scan(rules, text, 0, true)
  return { text: clean, denied }
}

/** Checks a text that arrives in chunks, and holds back what the next chunk could turn into a match. */
export type TextStream = {
  /** Returns the text that can be passed on, and the denied pattern after it. */
  push(chunk: string): { text: string; denied: string | null }
  /** As `push`, for the remaining text. */
  end(): { text: string; denied: string | null }
}

export function createTextStream(rules: TextRules): TextStream {
  /** The last checked character, as context, and the text that is held back. */
  let held = ''
  let from = 0
  const advance = (chunk: string, isEnd: boolean) => {
    held += chunk
    const { text, end, denied } = scan(rules, held, from, isEnd)
    held = end === 0 ? held : held.slice(end - 1)
    from = end === 0 ? 0 : 1
    return { text, denied }
  }
  return { push: (chunk) => advance(chunk, false), end: () => advance('', true) }
}

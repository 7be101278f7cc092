import { isAlphanumeric, isWordCode, NO_MATCH, UNDECIDED } from './matcher.ts'

/** Starts of the API keys and tokens of well-known services, and of Stead's own. */
const PREFIXES = [
  ...[
    'sk-',
    'sk_',
    'rk_live_',
    'whsec_',
    'rnd_',
    'agt_',
    'gw_',
    'gsk_',
    'xai-',
    'pplx-',
    'r8_',
    'hf_',
    'AIza',
    'ya29.',
  ],
  ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_', 'glpat-', 'npm_', 'pypi-', 'dop_v1_', 'shpat_'],
  ...['xoxb-', 'xoxp-', 'xoxa-', 'xapp-', 'AKIA', 'ASIA', 'SG.', 'eyJ'],
]
const MIN_LENGTH = 20
/** The longest part of a token that is replaced; JSON Web Tokens have some hundred characters. */
const MAX_LENGTH = 4096
const byFirst = Map.groupBy(PREFIXES, (prefix) => prefix.charCodeAt(0))

/** Finds an API key: a known prefix, at least 20 characters, and a digit, which words with hyphens lack. */
export function findApiKey(text: string, start: number, isEnd: boolean): number {
  const prefixes = byFirst.get(text.charCodeAt(start))
  const before = text.charCodeAt(start - 1)
  if (!prefixes || isWordCode(before) || before === HYPHEN) return NO_MATCH
  const rest = text.slice(start, start + 12)
  const isOpen = !isEnd && start + rest.length === text.length
  if (!prefixes.some((prefix) => rest.startsWith(prefix) || (isOpen && prefix.startsWith(rest)))) return NO_MATCH
  let end = start
  let hasDigit = false
  while (end - start < MAX_LENGTH && isKeyCode(text.charCodeAt(end))) {
    hasDigit ||= text.charCodeAt(end) <= 57 && text.charCodeAt(end) >= 48
    end += 1
  }
  if (end === text.length && !isEnd && end - start < MAX_LENGTH) return UNDECIDED
  while (end > start && !isAlphanumeric(text.charCodeAt(end - 1))) end -= 1
  return hasDigit && end - start >= MIN_LENGTH ? end : NO_MATCH
}

const HYPHEN = 45

function isKeyCode(code: number): boolean {
  // The characters - _ and .
  return isAlphanumeric(code) || code === HYPHEN || code === 95 || code === 46
}

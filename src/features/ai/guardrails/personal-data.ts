import type { Redaction } from '../../accounts/guardrails/schemas.ts'
import { findApiKey } from './find-key.ts'
import { isAlphanumeric, isDigit, isUpper, isWordCode, type MatchAt, NO_MATCH, UNDECIDED } from './matcher.ts'

/** Finds personal data of one kind and what replaces it. The first kind wins where two match at the same position. */
export const PERSONAL_DATA: readonly { kind: Redaction; mark: string; matchAt: MatchAt }[] = [
  { kind: 'keys', mark: '[key]', matchAt: findApiKey },
  { kind: 'email', mark: '[email]', matchAt: findEmail },
  { kind: 'iban', mark: '[iban]', matchAt: findIban },
  { kind: 'card', mark: '[card]', matchAt: findCard },
  { kind: 'phone', mark: '[phone]', matchAt: findPhone },
]

/** RFC 5321, 4.5.3.1: the lengths of the local part and of the domain. */
const MAX_LOCAL = 64
const MAX_DOMAIN = 255

function findEmail(text: string, start: number, isEnd: boolean): number {
  if (!isAlphanumeric(text.charCodeAt(start)) || isWordCode(text.charCodeAt(start - 1))) return NO_MATCH
  const at = skipWhile(text, start, MAX_LOCAL, isLocalCode)
  if (at === text.length) return isEnd ? NO_MATCH : UNDECIDED
  if (text.charCodeAt(at) !== AT_SIGN) return NO_MATCH
  const end = skipWhile(text, at + 1, MAX_DOMAIN, isDomainCode)
  if (end === text.length && !isEnd) return UNDECIDED
  const length = domainLength(text.slice(at + 1, end))
  return length === 0 ? NO_MATCH : at + 1 + length
}

const AT_SIGN = 64

/** Returns the length of the domain name that `text` starts with, 0 without one: labels with dots between, and letters at the end. */
function domainLength(text: string): number {
  const labels = text.split('.')
  const end = labels.findIndex((label) => label === '' || label.startsWith('-'))
  const whole = end === -1 ? labels : labels.slice(0, end)
  const last = whole.findLastIndex((label) => /^[A-Za-z]{2}/.test(label))
  if (last < 1) return 0
  const before = whole.slice(0, last).join('.')
  return before.length + 1 + (/^(?:xn--[A-Za-z0-9-]+|[A-Za-z]+)/.exec(whole[last] ?? '')?.[0].length ?? 0)
}

/** Digits of a card number (ISO/IEC 7812), which may be written in groups. */
const CARD_DIGITS = { min: 13, max: 19 }
const MIN_CARD_GROUP = 3

function findCard(text: string, start: number, isEnd: boolean): number {
  if (!isDigit(text.charCodeAt(start)) || isWordCode(text.charCodeAt(start - 1))) return NO_MATCH
  let digits = ''
  let inGroup = 0
  let match = NO_MATCH
  for (let at = start; digits.length < CARD_DIGITS.max; at++) {
    if (at === text.length && !isEnd) return UNDECIDED
    const code = text.charCodeAt(at)
    if (isCardSeparator(code) && inGroup >= MIN_CARD_GROUP) {
      inGroup = 0
      continue
    }
    if (!isDigit(code)) break
    inGroup += 1
    digits += text.charAt(at)
    if (digits.length < CARD_DIGITS.min) continue
    if (at + 1 === text.length && !isEnd) return UNDECIDED
    if (!isWordCode(text.charCodeAt(at + 1)) && isLuhn(digits)) match = at + 1
  }
  return match
}

function isCardSeparator(code: number): boolean {
  return code === 32 || code === 45
}

/** ISO/IEC 7812-1, annex B. */
function isLuhn(digits: string): boolean {
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 48
    const doubled = digit * 2
    if (index % 2 === 0) sum += digit
    else sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0 && sum > 0
}

/** ISO 13616: country, check digits and 11 to 30 further characters, printed in groups. */
const IBAN_CHARACTERS = { min: 15, max: 34 }

function findIban(text: string, start: number, isEnd: boolean): number {
  if (!isUpper(text.charCodeAt(start)) || isWordCode(text.charCodeAt(start - 1))) return NO_MATCH
  let characters = ''
  let match = NO_MATCH
  for (let at = start; characters.length < IBAN_CHARACTERS.max; at++) {
    if (at === text.length && !isEnd) return UNDECIDED
    const code = text.charCodeAt(at)
    if (code === 32 && characters.length >= 4 && text.charCodeAt(at - 1) !== 32) continue
    if (!isIbanCode(code, characters.length)) break
    characters += text.charAt(at)
    if (characters.length < IBAN_CHARACTERS.min) continue
    if (at + 1 === text.length && !isEnd) return UNDECIDED
    if (!isWordCode(text.charCodeAt(at + 1)) && hasIbanChecksum(characters)) match = at + 1
  }
  return match
}

function isIbanCode(code: number, position: number): boolean {
  if (position < 2) return isUpper(code)
  return position < 4 ? isDigit(code) : isDigit(code) || isUpper(code)
}

/** ISO 7064, MOD 97-10: letters count as 10 to 35, and the first four characters come last. */
function hasIbanChecksum(characters: string): boolean {
  let rest = 0
  for (let index = 0; index < characters.length; index++) {
    const code = characters.charCodeAt((index + 4) % characters.length)
    rest = (isDigit(code) ? rest * 10 + code - 48 : rest * 100 + code - 55) % 97
  }
  return rest === 1
}

/** ITU-T E.164 allows 15 digits. A number without a country code has 9 to 11, in groups. */
const INTERNATIONAL = { min: 8, max: 15 }
const NATIONAL = { min: 9, max: 11 }
const PLUS = 43
const OPENING = 40
const ZERO = 48
const SEPARATORS: ReadonlySet<string> = new Set([' ', '-', '.', '/', '(', ')', ' (', ') ', ')-'])

function findPhone(text: string, start: number, isEnd: boolean): number {
  const first = text.charCodeAt(start)
  const before = text.charCodeAt(start - 1)
  if (first !== PLUS && first !== OPENING && !isDigit(first)) return NO_MATCH
  if (isWordCode(before) || before === PLUS || before === OPENING) return NO_MATCH
  const { min, max } = first === PLUS ? INTERNATIONAL : NATIONAL
  const lengths: number[] = []
  let [match, digits, inGroup, separator] = [NO_MATCH, 0, 0, '']
  let isDotted = true
  for (let at = first === PLUS ? start + 1 : start; digits <= max; at++) {
    if (at === text.length && !isEnd) return UNDECIDED
    if (!isDigit(text.charCodeAt(at))) {
      if (inGroup === 1 && first !== PLUS) break
      if (inGroup > 0) lengths.push(inGroup)
      inGroup = 0
      separator += text.charAt(at)
      if (at === text.length || !SEPARATORS.has(separator)) break
      continue
    }
    if (separator !== '' && separator !== '.') isDotted = false
    separator = ''
    inGroup += 1
    digits += 1
    if (digits < min || digits > max) continue
    if (at + 1 === text.length && !isEnd) return UNDECIDED
    if (isWordCode(text.charCodeAt(at + 1))) continue
    if (first === PLUS || isNational([...lengths, inGroup], isDotted, first)) match = at + 1
  }
  return match
}

/** Returns whether groups of digits are a number without a country code: no date, IP address or amount. */
function isNational(lengths: readonly number[], isDotted: boolean, first: number): boolean {
  const shape = lengths.slice(0, 3).join('-')
  if (shape === '4-2-2' || shape === '2-2-4' || lengths.some((length) => length < 2)) return false
  const isGrouped = lengths.slice(1).every((length) => length === 3)
  if (isDotted && isGrouped && lengths.length > 2) return false
  return lengths.length >= (first === OPENING || first === ZERO ? 2 : 3)
}

function skipWhile(text: string, start: number, max: number, isPart: (code: number) => boolean): number {
  let at = start
  while (at - start < max && isPart(text.charCodeAt(at))) at += 1
  return at
}

function isLocalCode(code: number): boolean {
  // The characters . _ % + and -
  return isAlphanumeric(code) || code === 46 || code === 95 || code === 37 || code === 43 || code === 45
}

function isDomainCode(code: number): boolean {
  return isAlphanumeric(code) || code === 46 || code === 45
}

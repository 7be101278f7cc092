import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { REDACTIONS, type Redaction } from '../../accounts/guardrails/schemas.ts'
import { cleanText, compileTextRules, createTextStream } from './scan.ts'

const redacted = (text: string, redact: Redaction[] = [...REDACTIONS]) =>
  cleanText(compileTextRules({ deny: [], redact }), text).text
const denied = (text: string, ...deny: string[]) => cleanText(compileTextRules({ deny, redact: [] }), text).denied

test.each([
  ['Write to ada.l+x@mail.example.co.uk.', 'Write to [email].'],
  ['<ada@example.com>, (bo@example.org)', '<[email]>, ([email])'],
  ['No mail: @ada, ada@localhost, a@b.1, a@-b.com', 'No mail: @ada, ada@localhost, a@b.1, a@-b.com'],
  ['Card 4111 1111 1111 1111, or 5500-0000-0000-0004!', 'Card [card], or [card]!'],
  ['Card 378282246310005 and 4111111111111112', 'Card [card] and 4111111111111112'],
  ['IBAN DE89 3704 0044 0532 0130 00, GB82WEST12345698765432', 'IBAN [iban], [iban]'],
  ['IBAN DE88370400440532013000', 'IBAN DE88370400440532013000'],
  ['Call +49 30 901820 or (555) 123-4567 or 555-123-4567', 'Call [phone] or [phone] or [phone]'],
  ['Call 030 90182000; +15551234567', 'Call [phone]; [phone]'],
  ['On 2026-11-24 10:30, 24.11.2026 10:30, 192.168.100.200', 'On 2026-11-24 10:30, 24.11.2026 10:30, 192.168.100.200'],
  ['1790000000 or 12.345.678.901 or 3.14159265358979', '1790000000 or 12.345.678.901 or 3.14159265358979'],
  ['key sk-proj-AbCdEf0123456789xyz.', 'key [key].'],
  ['ghp_0123456789abcdefABCDEF0123456789ab AKIAIOSFODNN7EXAMPLE', '[key] [key]'],
  [
    'sk-learn-tutorial-for-the-beginners risk-0123456789012345678',
    'sk-learn-tutorial-for-the-beginners risk-0123456789012345678',
  ],
])('cleanText replaces personal data in %j', (text, clean) => {
  expect(redacted(text)).toBe(clean)
})

test('cleanText replaces only the selected kinds', () => {
  expect(redacted('ada@example.com 4111111111111111', ['card'])).toBe('ada@example.com [card]')
  expect(redacted('ada@example.com', [])).toBe('ada@example.com')
})

test.each([
  ['The project Falcon.', 'project falcon'],
  ['The Project\n  FALCON', 'project falcon'],
  ['falcons fly', 'falcon*'],
  ['a superfalcon', '*falcon'],
  ['EMP-1234-X', 'emp-*-x'],
  ['ÉCOLE', 'école'],
  ['a c++ b', 'c++'],
  ['x abxb', 'a*b'],
])('cleanText denies %j when the pattern is %j', (text, pattern) => {
  expect(denied(text, 'other', pattern)).toBe(pattern)
})

test.each([
  ['falcons', 'falcon'],
  ['a superfalcon', 'falcon'],
  ['project of falcon', 'project falcon'],
  ['emp 1 x', 'emp*x'],
  ['', 'a'],
])('cleanText permits %j when the pattern is %j', (text, pattern) => {
  expect(denied(text, pattern)).toBeNull()
})

test('cleanText denies a pattern inside personal data', () => {
  const rules = compileTextRules({ deny: ['evil.example'], redact: ['email'] })
  expect(cleanText(rules, 'to ada@evil.example.com')).toEqual({ text: 'to ', denied: 'evil.example' })
})

const words = fc.constantFrom(
  ...[
    'ada@example.com',
    '@',
    'x.',
    ' ',
    ' ',
    '\n',
    '4111 1111 1111 1111',
    '4111',
    '5500-0000',
    '-',
    '+49 30 ',
    '901820',
    '(',
  ],
  ...[
    'DE89 3704 0044 0532 0130 00',
    'DE89',
    'sk-proj-AbCdEf0123456789xyz',
    'sk-',
    'falcon',
    'Fal',
    'con',
    'project ',
    'é',
    '😀',
    'word',
  ],
)
const texts = fc.array(fc.oneof(words, fc.string({ maxLength: 6 })), { maxLength: 24 }).map((parts) => parts.join(''))
const rules = compileTextRules({ deny: ['project falcon', 'emp*x', '*zz'], redact: [...REDACTIONS] })

function stream(chunks: readonly string[]) {
  const guard = createTextStream(rules)
  let text = ''
  for (const step of [...chunks.map((chunk) => () => guard.push(chunk)), guard.end]) {
    const passed = step()
    text += passed.text
    if (passed.denied !== null) return { text, denied: passed.denied }
  }
  return { text, denied: null }
}

test('createTextStream returns the same text as cleanText when it is split anywhere', () => {
  fc.assert(
    fc.property(texts, fc.array(fc.nat({ max: 60 }), { maxLength: 40 }), (text, cuts) => {
      const ends = [...new Set(cuts.filter((cut) => cut < text.length))].sort((one, other) => one - other)
      const chunks = [...ends, text.length].map((end, index) => text.slice(ends[index - 1] ?? 0, end))
      expect(chunks.join('')).toBe(text)
      expect(stream(chunks)).toEqual(cleanText(rules, text))
      expect(stream([...text])).toEqual(cleanText(rules, text))
    }),
    { numRuns: 2000 },
  )
})

test('createTextStream holds back only what could become a match', () => {
  const guard = createTextStream(rules)
  expect(guard.push('Hello dear reader, this is plain ').text).toBe('Hello dear reader, this is plain ')
  expect(guard.push('a project ').text).toBe('a ')
  expect(guard.push('of mine').text).toBe('project of ')
  expect(guard.end().text).toBe('mine')
})

test('cleanText takes linear time when texts almost match', () => {
  const all = compileTextRules({ deny: ['a*a*a*b', '*aa*c', 'a b c'], redact: [...REDACTIONS] })
  const seconds = (text: string) => {
    const started = performance.now()
    cleanText(all, text)
    return (performance.now() - started) / 1000
  }
  for (const part of ['a', '1 ', '1', '11 ', 'A1 ', 'a@', 'a.', '+1-', 'DE89 ', 'sk-1'])
    expect(seconds(part.repeat(200_000 / part.length))).toBeLessThan(3)
}, 300_000)

import { expect, test } from 'bun:test'
import { createLog } from '../log.ts'
import { toPrettyLine } from './output.ts'

function show(write: (log: ReturnType<typeof createLog>) => void, hasColors = false): string {
  const lines: string[] = []
  write(createLog('trace', { write: (line) => void lines.push(toPrettyLine(line, { hasColors })) }))
  return lines.join('')
}

test('toPrettyLine returns time, level, message and fields when given a log line', () => {
  const text = show((log) => log.warn({ agent: 'ada-1', took: 12, reason: 'no answer' }, 'an agent failed'))
  expect(text).toMatch(/^\d\d:\d\d:\d\d warn {2}an agent failed agent=ada-1 took=12 reason="no answer"\n$/)
})

test('toPrettyLine returns one line without control characters when text from outside has them', () => {
  const text = show((log) => log.info({ name: 'a\u001b[2Jb', list: ['x\ny'] }, 'first\nsecond \u001b[31mred\u202e'))
  expect(text.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  expect(text).toContain('first\\nsecond \\u001b[31mred\\u202e')
})

test('toPrettyLine masks secrets when a field or the message holds one', () => {
  const text = show((log) => log.info({ apiKey: 'sk_9fK2mQ8xVb3TzR7wYc5LpA1d' }, 'Bearer abcdefgh'))
  expect(text).toContain('Bearer [redacted] apiKey=[redacted]')
})

test('toPrettyLine colours the level when colours are requested', () => {
  expect(show((log) => log.error('broken'), true)).toContain('\u001b[31merror\u001b[39m broken')
})

test('toPrettyLine returns the text unchanged when it is no log line', () => {
  for (const text of ['Stead 1.0.0\n', '{"a":1}\n', 'null\n'])
    expect(toPrettyLine(text, { hasColors: true })).toBe(text)
})

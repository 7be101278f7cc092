import { expect, test } from 'bun:test'
import { toVisible } from './lines.ts'

test('toVisible escapes letters that reorder or hide others, and keeps the meaning of JSON', () => {
  const text = JSON.stringify({ path: 'a\u202Etxt.exe', note: 'zero\u200Bwidth\u2066\u{E0041}' })
  const shown = toVisible(text)
  expect(shown).toBe('{"path":"a\\u202etxt.exe","note":"zero\\u200bwidth\\u2066\\udb40\\udc41"}')
  expect(JSON.parse(shown)).toEqual(JSON.parse(text))
})

test('toVisible escapes invisible letters unless they belong to an emoji', () => {
  expect(toVisible('a\u3164b\u2800c\u034Fd\u{E0100}')).toBe('a\\u3164b\\u2800c\\u034fd\\udb40\\udd00')
  expect(toVisible('\u2764\uFE0F')).toBe('\u2764\uFE0F')
})

test('toVisible leaves ordinary text of any language unchanged', () => {
  const text = JSON.stringify({ path: 'Grüße/日本語/😀 ok\n' })
  expect(toVisible(text)).toBe(text)
})

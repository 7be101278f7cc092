import { expect, test } from 'bun:test'
import { toVisible } from './visible-text.ts'

test('letters that turn or hide others are shown as escapes, and the JSON stays the same', () => {
  const text = JSON.stringify({ path: 'a\u202Etxt.exe', note: 'zero\u200Bwidth\u2066\u{E0041}' })
  const shown = toVisible(text)
  expect(shown).toBe('{"path":"a\\u202etxt.exe","note":"zero\\u200bwidth\\u2066\\udb40\\udc41"}')
  expect(JSON.parse(shown)).toEqual(JSON.parse(text))
})

test('ordinary text of any language stays as it is', () => {
  const text = JSON.stringify({ path: 'Grüße/日本語/😀 ok\n' })
  expect(toVisible(text)).toBe(text)
})

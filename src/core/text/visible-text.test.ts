import { expect, test } from 'bun:test'
import { toVisible } from './lines.ts'

test('letters that turn or hide others are shown as escapes, and the JSON stays the same', () => {
  const text = JSON.stringify({ path: 'a\u202Etxt.exe', note: 'zero\u200Bwidth\u2066\u{E0041}' })
  const shown = toVisible(text)
  expect(shown).toBe('{"path":"a\\u202etxt.exe","note":"zero\\u200bwidth\\u2066\\udb40\\udc41"}')
  expect(JSON.parse(shown)).toEqual(JSON.parse(text))
})

test('letters without a picture are shown as escapes, and those that belong to an emoji stay', () => {
  expect(toVisible('a\u3164b\u2800c\u034Fd\u{E0100}')).toBe('a\\u3164b\\u2800c\\u034fd\\udb40\\udd00')
  expect(toVisible('\u2764\uFE0F')).toBe('\u2764\uFE0F')
})

test('ordinary text of any language stays as it is', () => {
  const text = JSON.stringify({ path: 'Grüße/日本語/😀 ok\n' })
  expect(toVisible(text)).toBe(text)
})

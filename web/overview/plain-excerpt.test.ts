import { expect, test } from 'bun:test'
import { toPlainExcerpt } from './plain-excerpt.ts'

test.each([
  ['It opens at **six**. I have put it into `plan.md`.', 'It opens at six. I have put it into plan.md.'],
  ['## Found\n\n- [x] asked\n- *one* of [the coast](https://example.com)', 'Found asked one of the coast'],
  ['```ts\nconst a = 1', 'const a = 1'],
  ['3 * 4 * 5 and snake_case_name and 2**3', '3 * 4 * 5 and snake_case_name and 2**3'],
])('toPlainExcerpt, for %p, returns %p', (markdown, plain) => {
  expect(toPlainExcerpt(markdown)).toBe(plain)
})

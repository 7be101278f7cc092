import { expect, test } from 'bun:test'
import { closeInline, splitBlocks } from './blocks.ts'

const texts = (text: string) => splitBlocks(text).map((block) => (block.kind === 'text' ? block.text.trimEnd() : block))

test('splitBlocks splits at blank lines and keeps lists whole', () => {
  expect(texts('# One\n\nTwo\nlines\n\n- a\n\n  more of a\n\n- b\n\nEnd')).toEqual([
    '# One',
    'Two\nlines',
    '- a\n\n  more of a\n\n- b',
    'End',
  ])
})

test('splitBlocks keeps a list whole while its next marker is incomplete', () => {
  expect(texts('1. a\n\n2')).toEqual(['1. a\n\n2'])
  expect(texts('- a\n\n-')).toEqual(['- a\n\n-'])
})

test('splitBlocks keeps a code block open until its fence ends', () => {
  expect(texts('See:\n```ts\na\n\n# no heading\n```\nDone')).toEqual([
    'See:',
    { kind: 'code', code: 'a\n\n# no heading', language: 'ts', isOpen: false },
    'Done',
  ])
  expect(texts('````md\n```\nstill code')).toEqual([
    { kind: 'code', code: '```\nstill code', language: 'md', isOpen: true },
  ])
})

test('splitBlocks appends link definitions to the blocks that may use them', () => {
  expect(texts('See [the page][1].\n\nNothing.\n\n[1]: https://example.com')).toEqual([
    'See [the page][1].\n\n\n[1]: https://example.com',
    'Nothing.',
    '[1]: https://example.com\n\n[1]: https://example.com',
  ])
})

test('splitBlocks keeps complete blocks unchanged while the text grows', () => {
  const text =
    '# Title\n\nA *first* paragraph.\n\n- one\n- two\n\n```js\nlet a\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\nEnd.'
  const whole = splitBlocks(text)
  for (let length = 1; length <= text.length; length++) {
    const grown = splitBlocks(text.slice(0, length))
    for (const [index, block] of grown.slice(0, -1).entries()) {
      const same = whole[index]
      expect(block.kind === 'text' ? { ...block, text: block.text.trimEnd() } : block).toEqual(
        same?.kind === 'text' ? { ...same, text: same.text.trimEnd() } : (same ?? block),
      )
    }
  }
})

test('closeInline closes unfinished bold, code and links', () => {
  expect(closeInline('This is **bol')).toBe('This is **bol**')
  expect(closeInline('This is **')).toBe('This is ')
  expect(closeInline('This is **bold*')).toBe('This is **bold**')
  expect(closeInline('Call `main')).toBe('Call `main`')
  expect(closeInline('See [the page](https://exam')).toBe('See the page')
  expect(closeInline('All **is** `well`.')).toBe('All **is** `well`.')
})

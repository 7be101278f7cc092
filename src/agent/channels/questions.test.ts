import { expect, test } from 'bun:test'
import { toArgumentLines, toSentence } from './questions.ts'

test.each([
  ['delete_file', 'May I delete this file?'],
  ['weather/erase', 'May I use erase of the MCP server weather?'],
  ['new_tool', 'May I use new_tool?'],
  ['a\u202E/b', 'May I use b of the MCP server a\\u202e?'],
])('toSentence returns a plain question when the call is %j', (tool, sentence) => {
  expect(toSentence(tool)).toBe(sentence)
})

test.each([
  [{ path: 'a.md' }, 'path: a.md'],
  [
    { to: 'telegram:7', text: 'Hi\nurl: https://eve.example' },
    'to: telegram:7\ntext:\n  Hi\n  url: https://eve.example',
  ],
  [
    { url: 'https://a.example', headers: { a: '1\n2' }, body: '' },
    'url: https://a.example\nheaders: {"a":"1\\n2"}\nbody: ""',
  ],
  [{ count: 3, text: '3', flag: 'true', list: ['a'] }, 'count: 3\ntext: "3"\nflag: "true"\nlist: ["a"]'],
  [{ path: ' a ' }, 'path: " a "'],
  [{ 'a: b\nc': 'x' }, '"a: b\\nc": x'],
  [{ text: 'a\u202Eb\r\nc' }, 'text:\n  a\\u202eb\\u000d\n  c'],
  [{}, 'No arguments.'],
])('toArgumentLines shows all of %j, and no value looks like another argument', (input, lines) => {
  expect(toArgumentLines(JSON.stringify(input))).toBe(lines)
})

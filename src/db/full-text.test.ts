import { expect, test } from 'bun:test'
import { toPieces, toWordQuery } from './full-text.ts'
import { openDatabase } from './open.ts'

function open(...texts: string[]) {
  const { db, sqlite } = openDatabase(':memory:')
  sqlite.exec(`CREATE VIRTUAL TABLE words_fts USING fts5(text, tokenize='unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE words USING fts5vocab(words_fts, instance)`)
  const insert = sqlite.prepare('INSERT INTO words_fts (text) VALUES (?)')
  for (const text of texts) insert.run(text)
  const search = sqlite.prepare<[string], string>('SELECT text FROM words_fts WHERE words_fts MATCH ?').pluck()
  return (q: string) => {
    const query = toWordQuery(db, 'words', q)
    return query === null ? null : search.all(query)
  }
}

test('toWordQuery matches the beginning of the last word, ignoring case and accents, and other words whole', () => {
  const find = open('Café am Hafen', 'CAFETERIA', 'a caf')
  expect(find('caf')).toEqual(['Café am Hafen', 'CAFETERIA', 'a caf'])
  expect(find('CAFÉ')).toEqual(['Café am Hafen', 'CAFETERIA'])
  expect(find('caf hafen')).toEqual([])
  expect(find('café haf')).toEqual(['Café am Hafen'])
  expect(find('…')).toBeNull()
})

test('toWordQuery matches the last word whole when too many words begin with it', () => {
  const find = open('word', ...Array.from({ length: 50 }, (_, index) => `word${index}x`))
  expect(find('word')).toEqual(['word'])
  expect(find('word4')).toHaveLength(11)
})

test('toPieces marks the matches', () => {
  expect(toPieces('a \u0002b\u0003 c')).toEqual([
    { text: 'a ', isFound: false },
    { text: 'b', isFound: true },
    { text: ' c', isFound: false },
  ])
})

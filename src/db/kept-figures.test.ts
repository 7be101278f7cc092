import { expect, test } from 'bun:test'
import { type KeptFigures, keepFigures } from './kept-figures.ts'
import { openDatabase } from './open.ts'

const FIGURES: KeptFigures = {
  triggers: [
    {
      name: 'sums_insert',
      event: 'AFTER INSERT ON notes',
      body: 'INSERT INTO sums VALUES (NEW.kind, 1) ON CONFLICT DO UPDATE SET notes = notes + 1;',
    },
    {
      name: 'sums_delete',
      event: 'AFTER DELETE ON notes',
      body: 'UPDATE sums SET notes = notes - 1 WHERE kind = OLD.kind;',
    },
  ],
  recount: ['DELETE FROM sums', 'INSERT INTO sums SELECT kind, count(*) FROM notes GROUP BY kind'],
}

function openNotes() {
  const { sqlite } = openDatabase(':memory:')
  sqlite.exec(`CREATE TABLE books (id INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE notes (id INTEGER PRIMARY KEY, kind TEXT NOT NULL,
      book INTEGER REFERENCES books(id) ON DELETE CASCADE) STRICT;
    CREATE TABLE sums (kind TEXT PRIMARY KEY, notes INTEGER NOT NULL) STRICT;
    INSERT INTO books VALUES (1);
    INSERT INTO notes VALUES (1, 'old', 1), (2, 'old', NULL)`)
  return { sqlite, sums: () => sqlite.prepare('SELECT kind, notes FROM sums ORDER BY kind').all() }
}

test('keepFigures counts existing rows first, then inserts and deletes, also within other transactions', () => {
  const { sqlite, sums } = openNotes()
  keepFigures(sqlite, FIGURES)
  expect(sums()).toEqual([{ kind: 'old', notes: 2 }])
  sqlite.exec("INSERT INTO notes VALUES (3, 'new', 1), (4, 'new', NULL)")
  expect(sums()).toEqual([
    { kind: 'new', notes: 2 },
    { kind: 'old', notes: 2 },
  ])
  sqlite.exec('DELETE FROM books')
  expect(sums()).toEqual([
    { kind: 'new', notes: 1 },
    { kind: 'old', notes: 1 },
  ])
})

test('keepFigures counts again at a start only when a table was created anew without its trigger', () => {
  const { sqlite, sums } = openNotes()
  keepFigures(sqlite, FIGURES)
  sqlite.exec('UPDATE sums SET notes = 7')
  keepFigures(sqlite, FIGURES)
  expect(sums()).toEqual([{ kind: 'old', notes: 7 }])
  sqlite.exec('DROP TRIGGER sums_delete')
  keepFigures(sqlite, FIGURES)
  expect(sums()).toEqual([{ kind: 'old', notes: 2 }])
  sqlite.exec('DELETE FROM notes WHERE id = 1')
  expect(sums()).toEqual([{ kind: 'old', notes: 1 }])
})

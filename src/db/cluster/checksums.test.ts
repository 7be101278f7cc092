import { expect, test } from 'bun:test'
import Database from 'better-sqlite3'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { CHECK_STATEMENT, findDifferences, isCheck, readChecksums } from './checksums.ts'
import { encodeStatements } from './statements.ts'

const TABLES = `
  CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, bytes BLOB) STRICT;
  CREATE TABLE pairs (a TEXT, b ANY, PRIMARY KEY (a)) STRICT, WITHOUT ROWID;
  CREATE TABLE log_applied (id INTEGER PRIMARY KEY, seq INTEGER) STRICT;
  CREATE VIRTUAL TABLE words USING fts5(text);
`

async function checksumsOf(statements: string) {
  using folder = tempFolder()
  const file = folder.file('test.db')
  const sqlite = new Database(file)
  sqlite.exec(TABLES + statements)
  const sums = await readChecksums(file)
  sqlite.close()
  return sums
}

test('readChecksums is equal for equal rows and ignores the tables of one node', async () => {
  const rows =
    "INSERT INTO notes VALUES (1, 'a', x'00ff'); INSERT INTO pairs VALUES ('a', 1); INSERT INTO words VALUES ('b');"
  const sums = await checksumsOf(`${rows} INSERT INTO log_applied VALUES (1, 5);`)
  expect(sums).toEqual(await checksumsOf(`${rows} INSERT INTO log_applied VALUES (1, 6);`))
  expect(Object.keys(sums)).toContain('words_content')
})

test.each([
  ["INSERT INTO notes VALUES (1, 'a', NULL)", 'INSERT INTO notes VALUES (1, NULL, NULL)', ['notes']],
  ["INSERT INTO notes VALUES (1, 'a', NULL)", "INSERT INTO notes VALUES (2, 'a', NULL)", ['notes']],
  ["INSERT INTO notes VALUES (1, NULL, x'31')", "INSERT INTO notes VALUES (1, NULL, x'32')", ['notes']],
  ["INSERT INTO pairs VALUES ('a', 1)", "INSERT INTO pairs VALUES ('a', '1')", ['pairs']],
  ["INSERT INTO pairs VALUES ('ab', 'c')", "INSERT INTO pairs VALUES ('a', 'bc')", ['pairs']],
  ['SELECT 1', 'CREATE TABLE more (id INTEGER)', ['more']],
])('findDifferences of %j and %j names the table', async (one, other, tables) => {
  expect(findDifferences(await checksumsOf(one), await checksumsOf(other))).toEqual(tables)
})

test('readChecksums reads the rows as of the call', async () => {
  using folder = tempFolder()
  const file = folder.file('test.db')
  const sqlite = new Database(file)
  sqlite.pragma('journal_mode = WAL')
  sqlite.exec(TABLES)
  const before = await readChecksums(file)
  const reading = readChecksums(file)
  sqlite.exec("INSERT INTO notes VALUES (1, 'later', NULL)")
  expect(await reading).toEqual(before)
  expect(await readChecksums(file)).not.toEqual(before)
  sqlite.close()
})

test('isCheck finds the entry that ends with the statement', () => {
  const write = ['INSERT INTO notes VALUES (?)', [1]] as const
  expect(isCheck(encodeStatements([write, CHECK_STATEMENT]))).toBe(true)
  expect(isCheck(encodeStatements([write]))).toBe(false)
  expect(isCheck(encodeStatements([['INSERT INTO notes VALUES (?)', [JSON.stringify([CHECK_STATEMENT])]]]))).toBe(false)
})

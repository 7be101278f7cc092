import type { SQL } from 'drizzle-orm'
import { sql } from 'drizzle-orm'
import type { Db } from './open.ts'

/** Markers around matches; tags could be part of the user's text. */
const MARKS = { begin: '\u0002', end: '\u0003' }
const SNIPPET_WORDS = 24
/**
 * Beyond this number of completions only the exact word is searched, because reading all of them would block the event
 * loop.
 */
const MAX_ENDINGS = 50

/** Part of a snippet; `isFound` marks a match. */
type Piece = { text: string; isFound: boolean }

/**
 * Builds an FTS5 query for all words of `q`; the last word may be a prefix. Words are quoted, so `q` cannot contain
 * FTS5 syntax. `vocabulary` is an `fts5vocab` table of type `instance`.
 * @returns null when `q` has no word.
 */
export function toWordQuery(db: Db, vocabulary: string, q: string): string | null {
  const words = q.match(/[\p{L}\p{N}]+/gu)
  if (!words) return null
  const endings = listEndings(db, vocabulary, words.at(-1) ?? '')
  const last = endings.map(quote).join(' OR ')
  return [...words.slice(0, -1).map(quote), `(${last})`].join(' AND ')
}

/** Matches index rows before `rowid`. The cast makes it an INTEGER: with a REAL, FTS5 would scan instead of seeking. */
export function isBefore(index: string, rowid: number): SQL {
  return sql`${sql.raw(index)}.rowid < CAST(${rowid} AS INTEGER)`
}

/** Returns a snippet of the matched column, for `toPieces`. */
export function snippetOf(index: string, column: number): SQL<string> {
  const table = sql.raw(index)
  return sql<string>`snippet(${table}, ${sql.raw(String(column))}, ${MARKS.begin}, ${MARKS.end}, '…', ${SNIPPET_WORDS})`
}

/** Splits a snippet into matches and the text between them. */
export function toPieces(snippet: string): Piece[] {
  return snippet.split(MARKS.begin).flatMap((piece, index) => {
    if (index === 0) return piece === '' ? [] : [{ text: piece, isFound: false }]
    const [found = '', rest = ''] = piece.split(MARKS.end)
    return [{ text: found, isFound: true }, ...(rest === '' ? [] : [{ text: rest, isFound: false }])]
  })
}

/** Returns the word and its completions in the index, or the word alone when there are too many. */
function listEndings(db: Db, vocabulary: string, word: string): string[] {
  const beginning = toTerm(word)
  const end = `${beginning}\u{10FFFF}`
  const endings: string[] = []
  for (let from = beginning; ; ) {
    // Seek the first entry of the next word: one word may have a million entries.
    const next = db
      .select({ term: sql<string>`term` })
      .from(sql.raw(vocabulary))
      .where(sql`term >= ${from} AND term < ${end}`)
      .limit(1)
      .get()
    if (!next) return [word, ...endings]
    if (endings.length === MAX_ENDINGS) return [word]
    endings.push(next.term)
    from = `${next.term}\u0001`
  }
}

/** Normalizes a word as the tokenizer `unicode61 remove_diacritics 2` does. */
function toTerm(word: string): string {
  return word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}

function quote(word: string): string {
  return `"${word}"`
}

/**
 * FTS5 merges index segments during writes. From this number of segments on it merges all at once (default 16), which
 * blocks the write.
 */
const MOST_PARTS = 1000
/** A merge step is 64 pages per level, so small pages make short steps. */
const PAGE_BYTES = 500

/** Returns the statements that configure a new index to merge in small steps. */
export function mergeInSmallSteps(index: string): string[] {
  const set = (name: string, value: number) => `INSERT INTO ${index} (${index}, rank) VALUES ('${name}', ${value})`
  return [set('pgsz', PAGE_BYTES), set('crisismerge', MOST_PARTS)]
}

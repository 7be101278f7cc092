import type { SQL } from 'drizzle-orm'
import { sql } from 'drizzle-orm'
import type { Db } from './open.ts'

/** Around what was found; tags would be mistaken for somebody's text. */
const MARKS = { begin: '\u0002', end: '\u0003' }
const SNIPPET_WORDS = 24
/** With more words that begin so, only the word itself is looked for: reading all of them would hold up everybody else. */
const MAX_ENDINGS = 50

/** A piece of a text; those that were found are marked. */
export type Piece = { text: string; isFound: boolean }

/**
 * What was asked for in the language of FTS5: all words of `q`, the last of which may be the beginning of one. Each is quoted,
 * so that nothing of it is understood as that language. `vocabulary` is an `fts5vocab` table of the kind `instance`.
 * @returns null when there is no word in it.
 */
export function toWordQuery(db: Db, vocabulary: string, q: string): string | null {
  const words = q.match(/[\p{L}\p{N}]+/gu)
  if (!words) return null
  const endings = listEndings(db, vocabulary, words.at(-1) ?? '')
  const last = endings.map(quote).join(' OR ')
  return [...words.slice(0, -1).map(quote), `(${last})`].join(' AND ')
}

/**
 * The rows of an index that stand before a number. A JavaScript number is bound as a REAL, with which FTS5 would read
 * everything between instead of leaping there.
 */
export function isBefore(index: string, rowid: number): SQL {
  return sql`${sql.raw(index)}.rowid < CAST(${rowid} AS INTEGER)`
}

/** The place that was found in a column of the index, for `toPieces`. */
export function snippetOf(index: string, column: number): SQL<string> {
  const table = sql.raw(index)
  return sql<string>`snippet(${table}, ${sql.raw(String(column))}, ${MARKS.begin}, ${MARKS.end}, '…', ${SNIPPET_WORDS})`
}

/** A snippet in pieces: those that were found, and those between them. */
export function toPieces(snippet: string): Piece[] {
  return snippet.split(MARKS.begin).flatMap((piece, index) => {
    if (index === 0) return piece === '' ? [] : [{ text: piece, isFound: false }]
    const [found = '', rest = ''] = piece.split(MARKS.end)
    return [{ text: found, isFound: true }, ...(rest === '' ? [] : [{ text: rest, isFound: false }])]
  })
}

/** The word itself, and the words of the index that begin with it unless they are too many. */
function listEndings(db: Db, vocabulary: string, word: string): string[] {
  const beginning = toTerm(word)
  const end = `${beginning}\u{10FFFF}`
  const endings: string[] = []
  for (let from = beginning; ; ) {
    // The first entry of the next word is sought: entries of one word may be a million.
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

/** A word as the tokenizer `unicode61 remove_diacritics 2` keeps it. */
function toTerm(word: string): string {
  return word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}

function quote(word: string): string {
  return `"${word}"`
}

/**
 * Parts of an index are put together little by little, within the writes that made them. By default 16 parts of a size are
 * so at once, for as long as it takes; beyond this number they still are.
 */
const MOST_PARTS = 1000
/** A step is 64 pages for each size of parts: small pages make short steps. */
const PAGE_BYTES = 500

/** What an index is told when it is made, so that no write holds others up for long. */
export function mergeInSmallSteps(index: string): string[] {
  const set = (name: string, value: number) => `INSERT INTO ${index} (${index}, rank) VALUES ('${name}', ${value})`
  return [set('pgsz', PAGE_BYTES), set('crisismerge', MOST_PARTS)]
}

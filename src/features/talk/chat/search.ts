import { and, eq, lt, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { sequenceOf, toChatMessage } from './history.ts'
import type { SearchQuery, SearchResults } from './schemas.ts'
import { messages } from './tables.ts'

/** Around what was found; tags would be mistaken for somebody's text. */
const MARKS = { begin: '\u0002', end: '\u0003' }
const SNIPPET_WORDS = 24

/**
 * A user's messages that have all words of `q`, the last of which may be the beginning of one; newest first, ending before
 * the message `before`. Case and accents make no difference.
 */
export function searchMessages(db: Db, userId: string, query: SearchQuery): SearchResults {
  const match = toMatch(userId, query.q)
  if (match === null) return { results: [], hasMore: false }
  const rows = db
    .select({ message: messages, snippet: snippet() })
    .from(sql`messages_fts`)
    .innerJoin(messages, eq(messages.sequence, sql`messages_fts.rowid`))
    .where(
      and(
        sql`messages_fts MATCH ${match}`,
        eq(messages.userId, userId),
        query.agentId ? eq(messages.agentId, query.agentId) : undefined,
        query.before ? lt(sql`messages_fts.rowid`, sequenceOf(db, userId, query.before)) : undefined,
      ),
    )
    .orderBy(sql`messages_fts.rowid DESC`)
    .limit(query.limit + 1)
    .all()
  const results = rows.slice(0, query.limit).map((row) => ({
    message: toChatMessage(row.message),
    snippet: toParts(row.snippet),
  }))
  return { results, hasMore: rows.length > query.limit }
}

function snippet(): SQL<string> {
  return sql<string>`snippet(messages_fts, 0, ${MARKS.begin}, ${MARKS.end}, '…', ${SNIPPET_WORDS})`
}

/** Everything that is asked for is a quoted word: nothing of it is understood as the language of the index. */
function toMatch(userId: string, q: string): string | null {
  const words = q.match(/[\p{L}\p{N}]+/gu)
  if (!words) return null
  const quoted = words.map((word) => `"${word}"`)
  return `user_id : "${userId}" AND content : (${quoted.join(' AND ')}*)`
}

/** The text in pieces: those that were found, and those between them. */
function toParts(text: string): { text: string; isFound: boolean }[] {
  return text.split(MARKS.begin).flatMap((piece, index) => {
    if (index === 0) return piece === '' ? [] : [{ text: piece, isFound: false }]
    const [found = '', rest = ''] = piece.split(MARKS.end)
    return [{ text: found, isFound: true }, ...(rest === '' ? [] : [{ text: rest, isFound: false }])]
  })
}

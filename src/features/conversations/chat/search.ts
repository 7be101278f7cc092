import { and, eq, type SQL, sql } from 'drizzle-orm'
import { isBefore, snippetOf, toPieces, toWordQuery } from '../../../db/full-text.ts'
import type { Db } from '../../../db/open.ts'
import { readPage } from '../../../db/pages.ts'
import { sequenceOf, toChatMessage } from './history.ts'
import type { ChatSearchQuery, SearchResults } from './schemas.ts'
import { messages } from './tables.ts'

/**
 * Finds a user's messages that contain all words of `q`; the last one may be a prefix. Newest first, before the message
 * `before`; ignores case and accents.
 */
export function searchMessages(db: Db, userId: string, query: ChatSearchQuery): SearchResults {
  const match = toMatch(db, userId, query)
  if (match === null) return { results: [], hasMore: false }
  const selection = db
    .select({ message: messages, snippet: snippetOf('messages_fts', 0) })
    .from(sql`messages_fts`)
    .innerJoin(messages, eq(messages.sequence, sql`messages_fts.rowid`))
    .where(and(sql`messages_fts MATCH ${match}`, isWanted(db, userId, query)))
    .orderBy(sql`messages_fts.rowid DESC`)
  const { rows, hasMore } = readPage(selection, query.limit)
  const results = rows.map((row) => ({ message: toChatMessage(row.message), snippet: toPieces(row.snippet) }))
  return { results, hasMore }
}

function isWanted(db: Db, userId: string, { agentId, before }: ChatSearchQuery): SQL | undefined {
  return and(
    eq(messages.userId, userId),
    agentId ? eq(messages.agentId, agentId) : undefined,
    before ? isBefore('messages_fts', sequenceOf(db, userId, before)) : undefined,
  )
}

function toMatch(db: Db, userId: string, { q, agentId }: ChatSearchQuery): string | null {
  const words = toWordQuery(db, 'messages_words', q)
  if (words === null) return null
  const isOfAgent = agentId?.match(/[\p{L}\p{N}]/u) ? ` AND agent_id : "${agentId.replaceAll('"', '')}"` : ''
  return `user_id : "${userId}"${isOfAgent} AND content : (${words})`
}

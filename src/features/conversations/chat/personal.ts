import { asc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { bytesOf, inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { chatAttachments, chatSessions, chatToolCalls, chatTurns, messages, type TurnRow } from './tables.ts'

/** Conversations. */
export const personalChatSessions: PersonalList = {
  name: 'chatSessions',
  tables: [chatSessions],
  pages: (db, userId) =>
    inPages(db, {
      table: chatSessions,
      condition: eq(chatSessions.userId, userId),
      read: (isOnPage) =>
        db
          .select()
          .from(chatSessions)
          .where(isOnPage)
          .all()
          .map(({ sequence: _, userId: __, ...session }) => session),
    }),
}

/** What was said in them. */
export const personalMessages: PersonalList = {
  name: 'messages',
  tables: [messages],
  pages: (db, userId) =>
    inPages(db, {
      table: messages,
      condition: eq(messages.userId, userId),
      sizeBytes: bytesOf(messages.content),
      read: (isOnPage) =>
        db
          .select()
          .from(messages)
          .where(isOnPage)
          .all()
          .map(({ sequence: _, userId: __, ...message }) => message),
    }),
}

/** How each message was answered, and with which tools; what was said stands in the messages. */
export const personalTurns: PersonalList = {
  name: 'chatTurns',
  tables: [chatTurns, chatToolCalls],
  pages: (db, userId) =>
    inPages(db, {
      table: chatTurns,
      condition: eq(chatTurns.userId, userId),
      sizeBytes: toolCallBytes(),
      read: (isOnPage) => withToolCalls(db, db.select().from(chatTurns).where(isOnPage).all()),
    }),
}

function withToolCalls(db: Db, turns: TurnRow[]) {
  const ids = turns.map(({ id }) => id)
  const calls = db
    .select()
    .from(chatToolCalls)
    .where(inArray(chatToolCalls.turnId, ids))
    .orderBy(asc(chatToolCalls.turnId), asc(chatToolCalls.start))
    .all()
  const byTurn = Map.groupBy(calls, ({ turnId }) => turnId)
  return turns.map(({ sequence: _, userId: __, sessionKey: ___, ...turn }) => ({
    ...turn,
    toolCalls: (byTurn.get(turn.id) ?? []).map(({ turnId: _, start: __, ...call }) => call),
  }))
}

/** What the uses of tools of a turn take. */
function toolCallBytes(): SQL<number> {
  const { arguments: input, result, turnId } = chatToolCalls
  return sql<number>`(SELECT total(${bytesOf(input, result)}) FROM ${chatToolCalls} WHERE ${turnId} = ${chatTurns.id})`
}

/** Files that were given to agents: they lie in the workspaces. */
export const personalAttachments: PersonalList = {
  name: 'chatAttachments',
  tables: [chatAttachments],
  pages: (db, userId) =>
    inPages(db, {
      table: chatAttachments,
      condition: eq(chatAttachments.userId, userId),
      sizeBytes: bytesOf(chatAttachments.excerpt),
      read: (isOnPage) =>
        db
          .select()
          .from(chatAttachments)
          .where(isOnPage)
          .all()
          .map(({ sequence: _, userId: __, ...attachment }) => attachment),
    }),
}

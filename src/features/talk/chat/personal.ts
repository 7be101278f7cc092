import { eq } from 'drizzle-orm'
import { bytesOf, inPages } from '../../../db/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { chatSessions, chatTurns, messages } from './tables.ts'

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

/** How each message was answered; what was said stands in the messages. */
export const personalTurns: PersonalList = {
  name: 'chatTurns',
  tables: [chatTurns],
  pages: (db, userId) =>
    inPages(db, {
      table: chatTurns,
      condition: eq(chatTurns.userId, userId),
      read: (isOnPage) =>
        db
          .select()
          .from(chatTurns)
          .where(isOnPage)
          .all()
          .map(({ sequence: _, userId: __, sessionKey: ___, ...turn }) => turn),
    }),
}

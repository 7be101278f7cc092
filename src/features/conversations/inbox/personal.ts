import { eq } from 'drizzle-orm'
import { bytesOf, inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { inPagesOfAgents } from '../../agents/registry/agents.ts'
import { inboxMessages } from './tables.ts'

/** Mail that agents got. */
export const personalInbox: PersonalList = {
  name: 'inbox',
  tables: [inboxMessages],
  pages: (db, userId) =>
    inPagesOfAgents(db, userId, (agentId) =>
      inPages(db, {
        table: inboxMessages,
        condition: eq(inboxMessages.agentId, agentId),
        sizeBytes: bytesOf(inboxMessages.text, inboxMessages.reply),
        read: (isOnPage) =>
          db
            .select()
            .from(inboxMessages)
            .where(isOnPage)
            .all()
            .map(({ sequence: _, ...mail }) => mail),
      }),
    ),
}
